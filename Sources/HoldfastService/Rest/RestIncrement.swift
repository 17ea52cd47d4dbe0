import HoldfastCore

/// A change relative to the current value: `{"add": 2}` of a counter, `{"add": ["a"], "remove": ["b"]}` of a set. It is evaluated when the
/// item is applied.
struct RestIncrement: Sendable {
  private enum Change {
    case number(Int64)
    case elements(added: Set<[UInt8]>, removed: Set<[UInt8]>)
  }

  let column: Int
  private let change: Change

  /// Parses an increment. Returns nil and reads nothing if the member is no object, or the column is neither a counter nor a set.
  ///
  /// - Throws: `Problem.invalidValue` for an invalid object.
  init?(_ key: JSONKey, of table: TableSchema, _ reader: inout JSONReader) throws {
    guard let index = table.index(called: key),
      table.columns[index].policy == .counter || table.columns[index].policy == .set,
      try reader.peekKind() == .object
    else { return nil }
    let name = table.columns[index].name
    column = index
    let object = try JSONValue(parsing: Array(try reader.readRawValue()))
    if table.columns[index].policy == .counter {
      guard object.members?.count == 1, let number = object["add"]?.integerValue else {
        throw Problem(.invalidValue, "\(name) takes a number, or {\"add\": NUMBER}.")
      }
      change = .number(number)
      return
    }
    func texts(_ member: String) -> Set<[UInt8]>? {
      MergePolicy.elements(.text(String(decoding: (object[member] ?? []).bytes, as: UTF8.self)))
    }
    let isKnown = object.members?.allSatisfy { $0.name == "add" || $0.name == "remove" } ?? false
    guard isKnown, let added = texts("add"), let removed = texts("remove"), added.isDisjoint(with: removed)
    else {
      throw Problem(
        .invalidValue,
        "\(name) takes an array of texts, or {\"add\": [...], \"remove\": [...]} without a text in both.")
    }
    change = .elements(added: added, removed: removed)
  }

  /// The new value after the increment.
  ///
  /// - Throws: `Problem` if the column does not accept the result.
  func applied(to current: Value, _ column: ColumnSchema) throws(Problem) -> Value {
    let value: Value
    switch change {
    case .number(let number):
      let (sum, isOver) = (current.integer ?? 0).addingReportingOverflow(number)
      if isOver { throw Problem(.invalidValue, "\(column.name) would have more than 64 bits.") }
      value = .integer(sum)
    case .elements(let added, let removed):
      // A stored value that is no set, from before the column became one, is replaced.
      value = MergePolicy.json(of: (MergePolicy.elements(current) ?? []).union(added).subtracting(removed))
    }
    try column.check(value)
    return value
  }
}
