public import HoldfastCore

/// One create, update or delete of a change set in quarantine.
///
/// ```swift
/// try await store.resend(refused.number) { operations in
///   operations[0]["title"] = "Another title"
/// }
/// ```
public struct QuarantinedOperation: Sendable, Hashable {
  /// What it was to do.
  public let kind: HoldfastCore.RecordOperation.Kind
  /// The name of the table.
  public let table: String
  /// The id of the record.
  public let id: String
  /// The values that it gives to columns, and to `zone` of a new member.
  public private(set) var columns: TextMap<JSONValue>
  /// What the columns of an update had before.
  public private(set) var base: TextMap<JSONValue>
  /// The rev that it was based on; 0 for a new record.
  private(set) var rev: Int64 = 0
  /// When it was made; nil where that can't be read.
  private(set) var stamp: Stamp?

  /// Whether two do the same, whatever they were based on.
  public static func == (left: Self, right: Self) -> Bool {
    left.kind == right.kind && left.table == right.table && left.id == right.id
      && left.columns == right.columns && left.base == right.base
  }

  /// Hashes what tells most of them apart.
  public func hash(into hasher: inout Hasher) { hasher.combine(id) }

  /// An operation of its parts.
  ///
  /// - Parameters:
  ///   - kind: what it does.
  ///   - table: the name of the table.
  ///   - id: the id of the record.
  ///   - columns: the values that it gives to columns.
  ///   - base: see `base`; a column whose policy combines edits (`counter`, `set`, `text`) takes the step from there to its value again.
  public init(
    _ kind: HoldfastCore.RecordOperation.Kind, table: String, id: String, columns: TextMap<JSONValue> = [:],
    base: TextMap<JSONValue> = [:]
  ) {
    (self.kind, self.table, self.id) = (kind, table, id)
    (self.columns, self.base) = (columns, base)
  }

  /// The value of a column; setting it amends the operation: the column gets this value, whatever it had before.
  public subscript(column: String) -> JSONValue? {
    get { columns[column] }
    set {
      columns[column] = newValue
      base[column] = nil
    }
  }

  /// The operations of a sealed change set.
  static func all(_ body: [UInt8]) -> [QuarantinedOperation] {
    let operations = (try? JSONValue(parsing: body))?.elements ?? []
    func columns(_ value: JSONValue?) -> TextMap<JSONValue> {
      TextMap((value?.members ?? []).map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    }
    return operations.compactMap { operation in
      guard let kind = operation["op"]?.stringValue.flatMap(HoldfastCore.RecordOperation.Kind.init),
        let table = operation["table"]?.stringValue, let id = operation["id"]?.stringValue
      else { return nil }
      var read = QuarantinedOperation(
        kind, table: table, id: id, columns: columns(operation["columns"]), base: columns(operation["base"]))
      read.rev = operation["rev"]?.integerValue ?? 0
      read.stamp = operation["at"]?.stringValue.flatMap { Stamp($0) }
      return read
    }
  }
}
