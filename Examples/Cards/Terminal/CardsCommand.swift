import CardsModel
import Foundation
import Holdfast

/// Flash cards in a terminal, over the same library as the SwiftUI app: everything but accounts and links works with no network.
@main
enum CardsCommand {
  static func main() async {
    // The database and the token in it are for their owner alone.
    umask(0o077)
    do {
      try await run(Array(CommandLine.arguments.dropFirst()))
    } catch {
      FileHandle.standardError.write(Data("cards: \(describe(error).terminalText)\n".utf8))
      exit(error is Usage ? 64 : 1)
    }
  }

  private static func run(_ arguments: [String]) async throws {
    var (words, options) = try Options.parse(arguments)
    guard let name = words.first, name != "help", options.flags.isDisjoint(with: ["help"]) else {
      return print(Command.help)
    }
    guard let command = Command.all.first(where: { $0.name == name }) else {
      throw Usage("There is no command \"\(name)\". `cards help` lists them.")
    }
    words.removeFirst()
    guard command.counts.contains(words.count) else { throw Usage("Say: cards \(command.form)") }
    if let option = options.names.first(where: { !command.options.contains($0) }) {
      throw Usage("`cards \(name)` has no option --\(option).")
    }
    let environment = ProcessInfo.processInfo.environment
    let path = options.values["db"] ?? environment["CARDS_DB"] ?? NSHomeDirectory() + "/.cards.db"
    let seed = options.values["seed"] ?? environment["CARDS_SEED"]
    let server = try (options.values["server"] ?? environment["CARDS_SERVER"]).map { address in
      guard let url = URL(string: address), url.host() != nil else {
        throw Usage("\"\(address)\" is no address of a server, such as https://cards.example.org.")
      }
      return url
    }
    let store = try Store(path: path, schema: .cards(), seed: seed.map { URL(filePath: $0) })
    let result: Result<Void, any Error>
    do {
      try await command.run(Session(cards: Cards(store: store, server: server), options: options), words)
      result = .success(())
    } catch { result = .failure(error) }
    await store.close()
    try result.get()
  }

  private static func describe(_ error: any Error) -> String {
    switch error {
    case let error as StoreError: error.description
    case let problem as Problem: problem.description
    default: "\(error)"
    }
  }
}

/// A command line that makes no sense.
struct Usage: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// Options of a command line: `--name VALUE`, and flags.
struct Options {
  static let withValue: Set<String> = ["db", "server", "seed", "after", "subject"]
  static let withoutValue: Set<String> = ["first", "last", "edit", "teacher", "keep", "other", "help"]

  var values: [String: String] = [:]
  var flags: Set<String> = []

  /// The options that not every command has.
  var names: [String] {
    (Array(values.keys) + flags).filter { !["db", "server", "seed", "help"].contains($0) }
  }

  static func parse(_ arguments: [String]) throws -> (words: [String], options: Options) {
    var (words, options, rest) = ([String](), Options(), arguments[...])
    while let word = rest.popFirst() {
      let name = String(word.dropFirst(2))
      if word == "--" {
        words += rest
        break
      } else if !word.hasPrefix("--") {
        words.append(word)
      } else if withoutValue.contains(name) {
        options.flags.insert(name)
      } else if withValue.contains(name), let value = rest.popFirst() {
        options.values[name] = value
      } else {
        throw Usage("There is no option \(word), or its value is missing.")
      }
    }
    return (words, options)
  }
}

extension String {
  /// The text without what would move the cursor or colour the screen: others have written it.
  var terminalText: String {
    String(
      String.UnicodeScalarView(
        unicodeScalars.map { $0.properties.generalCategory == .control && $0 != "\n" ? "\u{FFFD}" : $0 }))
  }
}

/// Prints a line of what people have written.
func say(_ line: String) { print(line.terminalText) }
