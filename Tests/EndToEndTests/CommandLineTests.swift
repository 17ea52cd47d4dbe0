import Foundation
import Testing

@Suite("The command line of holdfast")
struct CommandLineTests {
  /// Runs `holdfast`, with these variables as its whole environment.
  private static func run(_ words: [String], environment: [String: String] = [:]) throws -> ProgramRun {
    try Programs.run("holdfast", words, environment: environment)
  }

  @Test("a misspelt command, option or setting is named, with the one that is near")
  func misspelt() throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let command = try Self.run(["srve"])
    #expect(command.status == 64)
    #expect(command.errors.contains(#"There is no command "srve". Did you mean serve?"#))
    #expect(!(try Self.run(["\u{1B}]0;x\u{7}"]).errors.contains("\u{1B}")))
    let option = try Self.run(["zones", "--dtaa", "x"])
    #expect(option.status == 64)
    #expect(option.errors.contains("There is no option --dtaa. Did you mean --data?"))
    let far = try Self.run(["zones", "--elephant"])
    #expect(far.errors.contains("There is no option --elephant.\n"))
    #expect(try Self.run(["zones", "-d"]).errors.contains("There is no option -d."))
    let file = folder.appendingPathComponent("settings.json")
    try Data(#"{"lisen": "127.0.0.1:0"}"#.utf8).write(to: file)
    let setting = try Self.run(["serve", "--config", file.path])
    #expect(setting.status == 64)
    #expect(setting.errors.contains(#"there is no setting "lisen". Did you mean listen?"#))
    try Data(#"{"no-sign-up": "perhaps"}"#.utf8).write(to: file)
    let flag = try Self.run(["serve", "--config", file.path])
    #expect(flag.status == 64)
    #expect(
      flag.errors.contains(#"The setting no-sign-up of the configuration file is yes or no, not "perhaps"."#))
    for text in ["perhaps", ""] {
      let variable = try Self.run(["serve"], environment: ["HOLDFAST_NO_SIGN_UP": text])
      #expect(variable.errors.contains(#"HOLDFAST_NO_SIGN_UP is yes or no, not "\#(text)"."#))
    }
  }

  @Test("a command whose output can't be written does not end as if it had been read")
  func fullOutput() throws {
    for words in [["--version"], ["zones", "--help"], ["--generate-completion-script", "bash"]] {
      let process = Process()
      (process.executableURL, process.arguments) = (Programs.path("holdfast"), words)
      let (output, errors) = (Pipe(), Pipe())
      process.standardOutput = FileHandle(forWritingAtPath: "/dev/full")
      process.standardError = errors
      try process.run()
      try output.fileHandleForWriting.close()
      let run = ProgramRun(of: process, output, errors)
      #expect(run.status == 1)
      #expect(run.errors.contains("its output can't be written"))
    }
  }

  @Test(
    "a configuration file that is no object of settings is refused, with its place",
    arguments: [
      "", "[", "[]", "1", #"{"data": null}"#, #"{"data": 1.5}"#, #"{"data": {"a": 1}}"#, #"{"data": [1]}"#,
      #"{"must-exist": "perhaps", "database": "postgres://x"}"#, "{\"data\": \"a\", \"data\": \"b\"}",
    ])
  func wrongFile(_ text: String) throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("settings.json")
    try Data(text.utf8).write(to: file)
    let run = try Self.run(["serve", "--check", "--config", file.path])
    #expect(run.status == 64)
    #expect(run.errors.hasPrefix("holdfast: "))
    let missing = try Self.run(["zones", "--config", folder.appendingPathComponent("nothing").path])
    #expect(missing.status == 1)
    #expect(missing.errors.contains("can't be read"))
  }

  @Test("the command line counts before the environment, and that before the file")
  func precedence() throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
    let file = path("settings.json")
    try Data(#"{"data": "\#(path("file"))", "keep-tombstones": 48}"#.utf8).write(
      to: URL(fileURLWithPath: file))
    let environment = ["HOLDFAST_CONFIG": file, "HOLDFAST_DATA": path("environment")]
    // Each names the database that it looked for.
    #expect(try Self.run(["zones"], environment: ["HOLDFAST_CONFIG": file]).errors.contains(path("file")))
    #expect(try Self.run(["zones"], environment: environment).errors.contains(path("environment")))
    let words = ["zones", "--data", path("words")]
    #expect(try Self.run(words, environment: environment).errors.contains(path("words")))
    // A nearer alternative replaces a farther setting, and does not contradict it.
    let postgres = try Self.run(
      ["zones", "--database", "postgres://127.0.0.1:1/x"], environment: environment)
    #expect(!postgres.errors.contains("exclude"))
    #expect(postgres.status == 1)
    let contradiction = try Self.run(["zones", "--data", "a", "--database", "b"])
    #expect(contradiction.errors.contains("exclude each other"))
  }

  @Test("serve --check says what a start would do, and writes nothing")
  func check() throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let (schema, data) = (
      folder.appendingPathComponent("holdfast.json").path, folder.appendingPathComponent("data").path
    )
    #expect(try Self.run(["init", schema]).status == 0)
    let new = try Self.run(["serve", "--check", "--schema", schema, "--data", data])
    #expect(new.status == 0)
    #expect(new.output.contains("the start creates it"))
    #expect(!FileManager.default.fileExists(atPath: data))
    let missing = try Self.run(["serve", "--check", "--schema", schema, "--data", data, "--must-exist"])
    #expect(missing.status == 1)
    let wrong = try Self.run(["serve", "--check", "--schema", schema, "--data", data, "--heartbeat", "0"])
    #expect(wrong.status == 64)
    let key = try Self.run([
      "serve", "--check", "--schema", schema, "--data", data, "--tls-cert", schema, "--tls-key", schema,
    ])
    #expect(key.status == 1)
    for (options, named) in [
      (["--cache", schema], "--cache"), (["--cache", "/nowhere/at/all"], "--cache"),
      (["--jwt-issuer", "i", "--jwt-audience", "a", "--jwt-keys", schema], "--jwt-keys"),
    ] {
      let run = try Self.run(["serve", "--check", "--schema", schema, "--data", data] + options)
      #expect(run.status == 1 && run.errors.contains(named), "\(options): \(run.errors)")
    }
    let cache = folder.appendingPathComponent("cache").path
    #expect(
      try Self.run(["serve", "--check", "--schema", schema, "--data", data, "--cache", cache]).status == 0)
    #expect(!FileManager.default.fileExists(atPath: cache))
  }

  @Test("each command has help, a manual page and completions in three shells")
  func help() throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    #expect(try Self.run(["--version"]).output.hasPrefix("holdfast "))
    #expect(try Self.run(["--generate-manual", folder.path]).status == 0)
    let pages = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    let overview = try Self.run(["help"])
    #expect(overview.status == 0)
    for page in pages where page != "holdfast.1" {
      let command = String(page.dropFirst("holdfast-".count).dropLast(".1".count))
      #expect(overview.output.contains("\n  \(command) "))
      let help = try Self.run(["help", command])
      #expect(help.status == 0)
      #expect(help.output.hasPrefix("Usage: holdfast \(command)"))
    }
    #expect(pages.count > 10)
    let script = try Self.run(["--generate-completion-script", "bash"]).output
    let completed = """
      \(script)
      COMP_WORDS=(holdfast serve --must)
      COMP_CWORD=2
      _holdfast
      echo "${COMPREPLY[@]}"
      """
    let bash = Process()
    bash.executableURL = URL(fileURLWithPath: "/bin/bash")
    bash.arguments = ["-c", completed]
    let output = Pipe()
    bash.standardOutput = output
    try bash.run()
    let words = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    #expect(words == "--must-exist\n")
    for shell in ["zsh", "fish"] {
      #expect(try Self.run(["--generate-completion-script", shell]).output.contains("must-exist"))
    }
    #expect(try Self.run(["--generate-completion-script", "tcsh"]).status == 64)
  }
}
