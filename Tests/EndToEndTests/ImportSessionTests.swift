import Foundation
import Holdfast
import Testing

/// `holdfast import` sends records to an account, in a session that a server may end.
@Suite("An import into an account")
struct ImportSessionTests {
  /// Runs a command with a line on its standard input.
  private func run(_ words: [String], line: String) throws -> ProgramRun {
    let process = Process()
    process.executableURL = Programs.path("holdfast")
    process.arguments = words
    let (input, output, errors) = (Pipe(), Pipe(), Pipe())
    (process.standardInput, process.standardOutput, process.standardError) = (input, output, errors)
    try process.run()
    try input.fileHandleForWriting.write(contentsOf: Data(line.utf8))
    try input.fileHandleForWriting.close()
    return ProgramRun(of: process, output, errors)
  }

  private func listTitles(_ device: Device) async throws -> [String] {
    try await device.store.read { try $0.fetch(String.self, "SELECT title FROM lists ORDER BY title") }
  }

  @Test("into the file of another user is refused, and nothing of it is there (I10)")
  func otherUser() async throws {
    let scene = try Scene()
    let ann = try await scene.signUp("ann", on: "phone")
    let bob = try await scene.signUp("bob", on: "tablet")
    let source = scene.folder.appendingPathComponent("old.db").path
    try SQLiteConnection(path: source).execute(
      "CREATE TABLE lists (id INTEGER PRIMARY KEY, title); INSERT INTO lists VALUES (1, 'one')")
    let words = { (source: String, into: String, user: String) in
      [
        "import", "sqlite", source, "--schema", scene.folder.appendingPathComponent("holdfast.json").path,
        "--into", scene.folder.appendingPathComponent(into).path, "--namespace", user, "--server",
        scene.server.address.absoluteString, "--user", user,
      ]
    }
    #expect(try run(words(source, "into.db", "ann"), line: "correct-horse\n").status == 0)
    let other = try run(words(source, "into.db", "bob"), line: "correct-horse\n")
    #expect(other.status == 1 && other.errors.contains("belongs to ann"), "\(other.errors)")
    for (device, titles) in [(ann, ["one"]), (bob, [])] {
      try await device.engine.sync()
      #expect(try await listTitles(device) == titles)
    }
    // What is no database makes none.
    for path in [source + ".not-there", scene.folder.appendingPathComponent("holdfast.json").path] {
      let none = try run(words(path, "none.db", "ann"), line: "")
      #expect(none.status == 1 && none.errors.contains(path), "\(none.errors)")
    }
    #expect(!FileManager.default.fileExists(atPath: scene.folder.appendingPathComponent("none.db").path))
  }

  @Test("that is repeated after the session has ended signs in again, and sends what waits (I3)")
  func endedSession() async throws {
    let scene = try Scene()
    let phone = try await scene.signUp("ann", on: "phone")
    let source = scene.folder.appendingPathComponent("old.db").path
    let old = try SQLiteConnection(path: source)
    try old.execute("CREATE TABLE lists (id INTEGER PRIMARY KEY, title); INSERT INTO lists VALUES (1, 'one')")
    let words = [
      "import", "sqlite", source, "--schema", scene.folder.appendingPathComponent("holdfast.json").path,
      "--into",
      scene.folder.appendingPathComponent("into.db").path, "--namespace", "ann", "--server",
      scene.server.address.absoluteString, "--user", "ann",
    ]
    let first = try run(words, line: "correct-horse\n")
    #expect(first.status == 0, "\(first.errors)")
    // In its session an import needs no password.
    #expect(try run(words, line: "").status == 0)
    let changed = try run(
      ["users", "password", "ann"] + scene.server.shared.options, line: "another-horse\n")
    #expect(changed.status == 0)
    try old.execute("INSERT INTO lists VALUES (2, 'two')")
    let without = try run(words, line: "")
    #expect(without.status == 1 && without.errors.contains("password"), "\(without.errors)")
    let again = try run(words, line: "another-horse\n")
    #expect(again.status == 0, "\(again.errors)")
    try await phone.engine.signIn(name: "ann", password: "another-horse", device: "phone")
    try await phone.engine.sync()
    #expect(try await listTitles(phone) == ["one", "two"])
  }
}
