import HoldfastCore
import HoldfastServer
import HoldfastSystem

/// What a command prints: lines for people or, with `--json`, one JSON object when it ends. docs/OPERATIONS.md, section 11, has its members.
final class Output: Sendable {
  /// The output of the process.
  static let shared = Output()

  private struct State {
    var command = ""
    var isJSON = false
    var isFinished = false
    var isWritten = true
    var messages: [JSONValue] = []
    var members: [JSONValue.Member] = []
  }

  private let state = Locked(State())

  /// Names the command, and says for whom it prints.
  func begin(_ command: String, isJSON: Bool) {
    state.withLock { ($0.command, $0.isJSON) = (command, isJSON) }
  }

  /// Whether all that was printed so far could be written.
  var isWritten: Bool { state.withLock { $0.isWritten } }

  /// Writes a line at once.
  private func put(_ line: String) {
    if !writeAll(Array("\(line)\n".utf8), to: 1) { state.withLock { $0.isWritten = false } }
  }

  /// Whether a program reads what the command prints.
  var isJSON: Bool { state.withLock { $0.isJSON } }

  /// Lines for people; for programs, one of the `messages`.
  ///
  /// Control characters, for example in names that users chose, are escaped for the terminal.
  func line(_ text: String) {
    if let lines = forPeople(text) { put(lines) }
  }

  private func forPeople(_ text: String) -> String? {
    let isForPeople = state.withLock { state in
      if state.isJSON { state.messages.append(.string(text)) }
      return !state.isJSON
    }
    guard isForPeople else { return nil }
    return text.shownLines
  }

  /// A whole text, such as a file: printed as it is; for programs, the member `text`.
  func text(_ text: String) {
    if isJSON {
      set("text", .string(text))
    } else {
      put(text.hasSuffix("\n") ? String(text.dropLast()) : text)
    }
  }

  /// A member for programs. People do not see it.
  func set(_ name: String, _ value: JSONValue) {
    state.withLock { state in
      state.members.removeAll { $0.name == name }
      state.members.append(.init(name, value))
    }
  }

  /// A count, for programs.
  func set(_ name: String, _ count: some BinaryInteger) { set(name, .integer(Int64(count))) }

  /// Texts, for programs.
  func set(_ name: String, _ texts: [String]) { set(name, .array(texts.map { .string($0) })) }

  /// A table for people; for programs, the member `name`, an array with an object for each row.
  func table(_ listing: Administration.Listing, as name: String = "rows") {
    guard isJSON else { return show(listing) }
    set(name, .array(listing.rows.map { Self.object($0, listing.columns) }))
  }

  /// Prints the object, if a program reads it. The first call counts.
  func finish(status: Int32, error: String? = nil) {
    let value = state.withLock { state -> JSONValue? in
      guard state.isJSON, !state.isFinished else { return nil }
      state.isFinished = true
      var members: [JSONValue.Member] = [
        .init("command", .string(state.command)), .init("status", .integer(Int64(status))),
      ]
      if let error { members.append(.init("error", .string(error))) }
      if !state.messages.isEmpty { members.append(.init("messages", .array(state.messages))) }
      return .object(members + state.members)
    }
    if let value { put(String(decoding: value.bytes, as: UTF8.self)) }
  }

  /// The columns whose texts are whole numbers.
  private static let numbers: TextSet = [
    "seq", "purged", "members", "records", "devices", "operations", "zones", "behind", "changes", "restored",
    "claimed", "deletions", "missing", "count",
  ]

  private static func object(_ row: [String], _ columns: [String]) -> JSONValue {
    .object(
      zip(columns, row).map { column, text in
        let name = column.split(separator: " ").joined(separator: "_")
        let number = numbers.contains(column) ? Int64(text) : nil
        return .init(name, number.map { .integer($0) } ?? .string(text))
      })
  }

  /// Prints a table. Text from users must not control the operator's terminal, so it is escaped.
  private func show(_ given: Administration.Listing) {
    let listing = (columns: given.columns, rows: given.rows.map { $0.map(\.shown) })
    let widths = listing.columns.indices.map { column in
      ([listing.columns] + listing.rows).map { $0[column].count }.max() ?? 0
    }
    let lines = ([listing.columns] + listing.rows).map { row in
      let cells = row.enumerated().map { index, text in
        index == row.count - 1 ? text : text + String(repeating: " ", count: widths[index] - text.count)
      }
      return cells.joined(separator: "  ")
    }
    put(lines.joined(separator: "\n"))
  }
}
