import HoldfastCore

/// The parsed bytes of a change set, in the outbox or in quarantine.
struct SentChangeSet {
  private(set) var tokens: Set<Int> = []
  private(set) var operations: Set<OperationName> = []
  /// The integers and the texts with tokens that it writes.
  private(set) var values: [ColumnPlace: Cell] = [:]
  /// The columns of its updates, with the identifying parts of their bases.
  private(set) var bases: [ColumnPlace: Cell] = [:]

  /// Parses the bytes; nil if they are no change set.
  init?(_ body: String) {
    guard let operations = json(body) as? [Any] else { return nil }
    for operation in operations {
      guard let operation = jsonMembers(operation), let kind = operation["op"] as? String,
        let table = operation["table"] as? String,
        let id = operation["id"] as? String
      else { return nil }
      let key = RecordKey(table: table, id: id)
      self.operations.insert(OperationName(kind: kind, key: key))
      for (column, value) in jsonMembers(operation["base"]) ?? [:] {
        let place = ColumnPlace(key: key, column: Schemas.firstName(of: column))
        bases[place] = .base(value as? Int64, Self.tokens(in: value))
      }
      // The base of an edit is not written by it.
      for (column, value) in jsonMembers(operation["columns"]) ?? [:] {
        let cell = (value as? String).map(Cell.text) ?? (value as? Int64).map(Cell.integer)
        if let cell, cell.isTelling {
          values[ColumnPlace(key: key, column: Schemas.firstName(of: column))] = cell
        }
        tokens.formUnion(Self.tokens(in: value))
      }
    }
  }

  private static func tokens(in value: Any) -> Set<Int> {
    (value as? [Any] ?? [value]).reduce(into: []) { tokens, text in
      if let text = text as? String { tokens.formUnion(Tokens.inside(text)) }
    }
  }

  /// Whether it contains this operation. In the tables, deleting and recreating a record in one transaction looks like an update.
  func mayDo(_ operation: OperationName) -> Bool {
    func does(_ kind: String) -> Bool { operations.contains(OperationName(kind: kind, key: operation.key)) }
    return does(operation.kind) || operation.kind == "update" && does("delete") && does("create")
  }
}
