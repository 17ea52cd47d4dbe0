import Foundation
import HoldfastCore
import HoldfastSQLite
import HoldfastServer
import HoldfastService
import Testing

@Suite("The answers of holdfast for programs")
struct CommandJSONTests {
  private let folder: URL

  init() throws { folder = try Programs.makeFolder() }

  private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

  /// Command lines of every command, in an order in which each finds what it needs.
  private var lines: [[String]] {
    let (schema, data) = (path("holdfast.json"), ["--data", path("data")])
    return [
      ["init", schema], ["init", schema], ["schema", schema], ["schema", schema, "--print", "sql"],
      ["schema", "--problems"], ["schema", "diff", schema, schema], ["schema", "diff", schema, path("none")],
      ["serve", "--schema", schema, "--check"] + data, ["users"] + data,
      ["serve", "--schema", schema, "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"] + data,
      ["schema", "prune"] + data, ["users"] + data, ["zones"] + data,
      ["zones", "grant", "none", "nobody", "owner"] + data, ["devices"] + data,
      ["devices", "reset", "--all"] + data, ["audit"] + data,
      ["tokens", "create", "--name", "reporter", "--role", "viewer", "--all-zones"] + data,
      ["tokens"] + data, ["conflicts"] + data, ["doctor", "--repair"] + data, ["purge"] + data,
      ["backup", path("one.backup")] + data, ["backup", "--verify", path("one.backup")] + data,
      ["backup", "--folder", path("."), "--keep", "1"] + data,
      ["restore", path("one.backup"), "--data", path("restored")],
      ["restore", "--report", "--data", path("restored")],
      ["snapshot", "--user", "reporter", "--output", path("snapshot.db")] + data,
      ["import", "sqlite", path("none"), "--schema", schema, "--into", path("device.db")],
      ["directory", "--directory", "postgres://nobody@127.0.0.1:1/none"], ["bench", "--runs", "0"],
      ["users", "--nonsense"],
    ]
  }

  @Test("the doctor names a remedy for what it finds, and the repair says what it mended")
  func remedies() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let schema = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Examples/Jot/holdfast.json").path
    let data = ["--data", path("data")]
    _ = try run(["serve", "--schema", schema, "--listen", "127.0.0.1:0"] + data)
    try SQLiteConnection(path: path("data/holdfast.db")).execute("UPDATE holdfast_zones SET records = 99")
    func doctor(_ words: String...) throws -> (status: Int32, answer: JSONValue) {
      let (status, output) = try run(["doctor"] + words + data)
      return (status, try JSONValue(parsing: Array(output.utf8)))
    }
    let sick = try doctor()
    #expect(sick.status == 1)
    let finding = try #require(sick.answer["findings"]?.elements?.first)
    #expect(finding["kind"]?.stringValue == "counts")
    #expect(finding["remedy"]?.stringValue == Finding.Kind.counts.remedy)
    let lines = try Programs.run("holdfast", ["doctor"] + data).output.split(separator: "\n")
    #expect(lines.contains("remedy of counts: \(Finding.Kind.counts.remedy)"))
    let mended = try doctor("--repair")
    #expect(mended.status == 0)
    #expect(mended.answer["repaired"]?.elements?.count == 1)
    #expect(try doctor("--repair").answer["repaired"]?.elements?.count == 0)
  }

  @Test("every remedy is one sentence, and its commands are there")
  func sentences() throws {
    let help = try Programs.run("holdfast", ["help"]).output
    for kind in Finding.Kind.allCases {
      #expect(kind.remedy.hasSuffix(".") && !kind.remedy.dropLast().contains(". "), "\(kind)")
      for command in kind.remedy.matches(of: /`holdfast ([a-z]+)/) {
        #expect(help.contains("\n  \(command.output.1) "), "\(kind)")
      }
    }
  }

  /// Runs a command line to its end; a server until it listens.
  private func run(_ words: [String]) throws -> (status: Int32, output: String) {
    guard words.first == "serve", !words.contains("--check") else {
      let run = try Programs.run("holdfast", words + ["--json"])
      return (run.status, run.output)
    }
    let (process, output) = (Process(), Pipe())
    process.executableURL = Programs.path("holdfast")
    process.arguments = words + ["--json"]
    (process.standardOutput, process.standardError) = (output, FileHandle.nullDevice)
    try process.run()
    var bytes = Data()
    while !bytes.contains(UInt8(ascii: "\n")) {
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { break }
      bytes += more
    }
    process.terminate()
    bytes += output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: bytes, as: UTF8.self))
  }

  /// The members that docs/OPERATIONS.md names for each command, in its section on programs.
  private func documented() throws -> TextMap<String> {
    let page = try String(
      contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "../../docs/OPERATIONS.md"), encoding: .utf8)
    let section = try #require(page.range(of: "\n## 11. "))
    let rows = page[section.upperBound...].split(separator: "\n").filter { $0.hasPrefix("| `") }
    return TextMap(
      rows.compactMap { row in
        let cells = row.split(separator: "|")
        guard cells.count == 2 else { return nil }
        return (cells[0].filter { $0.isLetter }, String(cells[1]))
      }, uniquingKeysWith: { first, _ in first })
  }

  @Test("every command answers --json with one object, whose members are documented")
  func all() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let documented = try documented()
    let help = try Programs.run("holdfast", ["help"]).output.split(
      separator: "\n", omittingEmptySubsequences: false)
    let commands = help.drop { $0 != "Commands:" }.dropFirst().prefix { $0.hasPrefix("  ") }
      .map { String($0.split(separator: " ")[0]) }
    #expect(TextSet(commands) == TextSet(lines.map { $0[0] }))
    for words in lines {
      let (status, output) = try run(words)
      guard let value = try? JSONValue(parsing: Array(output.utf8)), case .object(let members) = value else {
        Issue.record("\(words): \(output)")
        continue
      }
      #expect(output.hasSuffix("}\n"))
      #expect(value["command"]?.stringValue == words[0])
      #expect(value["status"]?.integerValue == Int64(status), "\(words): \(output)")
      #expect((value["error"] != nil) == (status != 0), "\(words): \(output)")
      for member in members where !["command", "status", "error", "messages"].contains(member.name) {
        #expect(
          documented[words[0]]?.contains("`\(member.name)`") ?? false, "\(words[0]) \(member.name)")
      }
      switch words[0] {
      case "tokens" where words[1] != "create":
        #expect(value["rows"]?.elements?.first?["name"]?.stringValue == "reporter")
      case "serve" where status == 0 && !words.contains("--check"):
        #expect(value["url"]?.stringValue?.hasPrefix("http://127.0.0.1:") ?? false)
      case "doctor": #expect(value["findings"]?.elements?.count == 0)
      default: break
      }
    }
  }
}
