import Holdfast

extension Command {
  static let undo = Command(
    "undo", taking: "[NUMBER]", words: 0...1,
    "take the last edit of this device back, or the one of a number",
    details: """
      What somebody has changed since stays. An undo can be undone by its own number.
      """, options: [.list, .json, .sync]
  ) { call in
    let notebook = try call.open()
    if call.arguments.has(.list) {
      let transactions = try await notebook.store.undoable()
      return call.show(.array(transactions.map(\.json))) { text(transactions, $0) }
    }
    let number = try call.words.first.map { word in
      guard let number = Int64(word) else { throw Failure(.usage, "\"\(word)\" is no number of an edit.") }
      return number
    }
    let result = try await notebook.store.undo(number)
    call.show(result.json) { _ in result.sentence + "\n" }
    try await call.syncIfAsked(notebook)
  }

  private static func text(_ transactions: [UndoableTransaction], _ terminal: Terminal) -> String {
    if transactions.isEmpty { return "There is nothing to undo.\n" }
    var columns = Columns("number", "at", "what")
    for transaction in transactions {
      let what = transaction.counts.map { "\($0.kind.rawValue) \($0.records) \($0.table)" }
      let undoes = transaction.undoes.map { " (undoes \($0))" } ?? ""
      columns.add(String(transaction.number), transaction.at, what.joined(separator: ", ") + undoes)
    }
    return columns.text(terminal)
  }
}

extension UndoResult {
  /// The result in words.
  var sentence: String {
    let undone = undone.isEmpty ? "Nothing was undone" : "Undone: \(Self.summary(undone))"
    let left = left.isEmpty ? "" : "; left as it is: \(Self.summary(left.map(\.change)))"
    return "\(undone)\(left)."
  }

  private static func summary(_ changes: [Change]) -> String {
    var counts: [(what: String, count: Int)] = []
    for change in changes {
      let what = change.kind.rawValue + " of " + change.table + (change.column.map { ".\($0)" } ?? "")
      if let index = counts.firstIndex(where: { $0.what == what }) {
        counts[index].count += 1
      } else {
        counts.append((what, 1))
      }
    }
    return counts.map { $0.count == 1 ? $0.what : "\($0.what) (\($0.count))" }.joined(separator: ", ")
  }
}

extension UndoableTransaction {
  fileprivate var json: JSONValue {
    .object([
      .init("number", .integer(number)), .init("at", .string(at)),
      .init("undoes", undoes.map { .integer($0) } ?? .null),
      .init(
        "what",
        .array(
          counts.map {
            .object([
              .init("op", .string($0.kind.rawValue)), .init("table", .string($0.table)),
              .init("records", .integer(Int64($0.records))),
            ])
          })),
    ])
  }
}

extension UndoResult {
  fileprivate var json: JSONValue {
    .object([
      .init("number", .integer(number)), .init("undone", .array(undone.map { .object($0.members) })),
      .init(
        "left",
        .array(left.map { .object($0.change.members + [.init("reason", .string("\($0.reason)"))]) })),
    ])
  }
}

extension UndoResult.Change {
  fileprivate var members: [JSONValue.Member] {
    [
      .init("op", .string(kind.rawValue)), .init("table", .string(table)), .init("id", .string(id)),
      .init("column", JSONValue(column)),
    ]
  }
}
