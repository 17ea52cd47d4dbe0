import Holdfast

extension Command {
  static let quarantine = Command(
    "quarantine", "show the edits that the server refused, why, and what waits with them", options: [.json]
  ) { call in
    let sets = try await call.open().store.quarantined()
    call.show(.array(sets.map(\.json))) { terminal in
      sets.isEmpty ? "Nothing was refused.\n" : sets.map { $0.text(terminal) }.joined()
    }
  }

  static let quarantineAmend = Command(
    "quarantine amend", taking: "NUMBER COLUMN=VALUE...", words: 2...100,
    "edit a refused change set and write it again",
    details: """
      The values are those of the operation that the server refused. What waits because of it is written again with
      it. An empty VALUE takes the value away.
      """, options: [.server, .sync]
  ) { call in
    let pairs = try call.words.dropFirst().map { word in
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      if parts.count < 2 { throw Failure(.usage, "\"\(word)\" is no COLUMN=VALUE.") }
      return (column: parts[0], value: parts[1])
    }
    let schema = try Notebook.schema()
    try await resend(call) { set, operations in
      guard operations.indices.contains(set.operation) else {
        throw Failure(.data, "The server did not say which operation it refused.")
      }
      for (column, value) in pairs {
        let table = operations[set.operation].table
        operations[set.operation][column] = try TypedValue.json(value, column, of: table, schema)
      }
    }
  }

  static let quarantineResend = Command(
    "quarantine resend", taking: "NUMBER", words: 1...1, "write a refused change set again, unchanged",
    details: "Change sets that depend on it are written again too.", options: [.server, .sync]
  ) { call in
    try await resend(call) { _, _ in }
  }

  static let quarantineDiscard = Command(
    "quarantine discard", taking: "NUMBER", words: 1...1, "discard a refused change set for good",
    details: "Change sets that depend on it are discarded too. The lists stay as they are."
  ) { call in
    let store = try call.open().store
    let set = try await quarantined(call, store)
    try await store.discard(set.number)
    Terminal.output.say("Discarded \(set.size).")
  }

  private static func quarantined(_ call: Invocation, _ store: Store) async throws -> QuarantinedChangeSet {
    let sets = try await store.quarantined()
    guard let set = sets.first(where: { String($0.number) == call.words[0] }) else {
      throw Failure(
        .data, "There is no change set \(call.words[0]) in quarantine. `jot quarantine` shows them.")
    }
    return set
  }

  private static func resend(
    _ call: Invocation,
    _ amend: @escaping @Sendable (QuarantinedChangeSet, inout [QuarantinedOperation]) throws -> Void
  ) async throws {
    let notebook = try call.open()
    let set = try await quarantined(call, notebook.store)
    try await notebook.store.resend(set.number) { try amend(set, &$0) }
    Terminal.output.say("Wrote \(set.size) again, to be sent.")
    try await call.syncIfAsked(notebook)
  }
}

extension QuarantinedChangeSet {
  /// How many change sets it is, with those that depend on it.
  var size: String { (1 + dependents.count).of("change set") }

  /// Why it is in quarantine.
  var why: String { because.map { "waits for \($0): \(reason)" } ?? reason }

  fileprivate var json: JSONValue {
    .object([
      .init("number", .integer(number)), .init("at", .string(at)),
      .init("operation", .integer(Int64(operation))),
      .init("problem", (try? JSONValue(parsing: document)) ?? .string(document)),
      .init("operations", .array(operations.map(\.json))),
      .init("because", because.map { .integer($0) } ?? .null),
      .init("dependents", .array(dependents.map { .integer($0) })),
    ])
  }

  fileprivate func text(_ terminal: Terminal) -> String {
    let lines = operations.prefix(10).map { "   \($0.sentence.shown)\n" }
    let rest = operations.count > 10 ? "   and \((operations.count - 10).of("operation")) more\n" : ""
    let free = problem?.taken?.proposal.map { "\($0.column)=\($0.value)".shown }
    let offer = free.map { "   free: `jot quarantine amend \(number) \($0)`\n" } ?? ""
    return "\(terminal.paint("\(number)  \(at)", .dim))  \(why.shown)\n\(lines.joined())\(rest)\(offer)"
  }
}

extension QuarantinedOperation {
  private var columnsJSON: JSONValue {
    .object(columns.sorted { $0.key < $1.key }.map { .init($0.key, $0.value) })
  }

  /// The operation in words.
  var sentence: String {
    let values = columns.isEmpty ? "" : " " + String(decoding: columnsJSON.bytes, as: UTF8.self)
    return "\(kind.rawValue) \(table)\(values)"
  }

  fileprivate var json: JSONValue {
    .object([
      .init("op", .string(kind.rawValue)), .init("table", .string(table)), .init("id", .string(id)),
      .init("columns", columnsJSON),
    ])
  }
}
