import Foundation
import Testing

/// Commands on the pages for people: what a page tells to type is there.
@Suite("The commands on the pages")
struct DocumentedCommandTests {
  /// The command lines of a page: of its blocks of shell, and between backticks in its text.
  private struct Page {
    let name: String
    let lines: [String]

    init(_ url: URL) throws {
      name = url.lastPathComponent
      var (lines, isShell, isBlock): ([String], Bool, Bool) = ([], false, false)
      let text = try String(contentsOf: url, encoding: .utf8).replacing("\\\n", with: " ")
      for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
        let trimmed = line.drop { $0 == " " }
        if trimmed.hasPrefix("```") {
          isBlock.toggle()
          isShell = isBlock && ["```", "```sh", "```bash"].contains(trimmed)
        } else if isShell {
          lines.append(String(trimmed))
        } else if !isBlock {
          // What is between backticks has an odd place.
          lines += trimmed.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 && $0.element.contains(" ") }.map { String($0.element) }
        }
      }
      self.lines = lines
    }

    /// The words behind each use of a program.
    func uses(of program: String) -> [[String]] {
      lines.flatMap { line -> [[String]] in
        let code = line.split(separator: " #", maxSplits: 1).first ?? ""
        return code.split { "|&;()".contains($0) }.compactMap { part in
          let words = part.split(separator: " ").map(String.init)
          guard let first = words.first, first == program || first.hasSuffix("/\(program)") else {
            return nil
          }
          return Array(words.dropFirst())
        }
      }
    }
  }

  /// The names of connections in pg_stat_activity, which are no commands.
  private static let connections: Set = [
    "writes", "waits", "reads", "administers", "listens", "purges", "opens",
  ]

  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  private static func pages() throws -> [Page] {
    let docs = root.appendingPathComponent("docs")
    let files = try FileManager.default.contentsOfDirectory(at: docs, includingPropertiesForKeys: nil)
      .filter { $0.pathExtension == "md" }
    return try (files + ["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(root.appendingPathComponent)).map(
      Page.init)
  }

  @Test("each names a command and options of holdfast that there are")
  func holdfast() throws {
    var helps: [String: String] = [:]
    var seen = 0
    for page in try Self.pages() {
      for words in page.uses(of: "holdfast") {
        guard let command = words.first, command.first?.isLetter == true, command.lowercased() == command,
          command != "help", !Self.connections.contains(command)
        else { continue }
        if helps[command] == nil {
          let help = try Programs.run("holdfast", ["help", command])
          #expect(help.status == 0, "\(page.name): there is no command \(command)")
          helps[command] = help.output
        }
        let known = Set((helps[command] ?? "").split { " \n,.|[]()".contains($0) }.map(String.init))
          .union(["--help"])
        for option in words where option.hasPrefix("--") {
          let name = String(option.prefix { $0 != "=" && $0 != "]" })
          #expect(known.contains(name), "\(page.name): holdfast \(command) has no option \(name)")
          seen += 1
        }
      }
    }
    #expect(seen > 50)
  }

  @Test("each names a command of jot that there is")
  func jot() throws {
    let commands = Set(
      try Programs.run("jot", ["help"]).output.split(separator: "\n").filter { $0.hasPrefix("  ") }
        .compactMap { $0.split(separator: " ").first.map(String.init) })
    for page in try Self.pages() {
      for words in page.uses(of: "jot") {
        // Options of all commands may stand before the command.
        var rest = words[...]
        while rest.first?.hasPrefix("--") == true { rest = rest.dropFirst(2) }
        guard let command = rest.first, command.first?.isLowercase == true else { continue }
        #expect(commands.contains(command), "\(page.name): there is no command jot \(command)")
      }
    }
  }

  @Test("each names a target of the Makefile")
  func make() throws {
    let makefile = try String(contentsOf: Self.root.appendingPathComponent("Makefile"), encoding: .utf8)
    let targets = Set(
      makefile.split(separator: "\n").filter { $0.first?.isLowercase == true && $0.contains(":") }
        .compactMap { $0.split(separator: ":").first.map(String.init) })
    for page in try Self.pages() {
      for words in page.uses(of: "make") {
        guard let target = words.first, target.first?.isLowercase == true else { continue }
        #expect(targets.contains(target), "\(page.name): there is no target \(target)")
      }
    }
  }
}
