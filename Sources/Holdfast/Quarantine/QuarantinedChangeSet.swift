public import HoldfastCore
import HoldfastSQLite

/// A change set that the server refused for good, whole. See PROTOCOL.md, section 6.6.
public struct QuarantinedChangeSet: Sendable, Hashable {
  /// Its number in the quarantine.
  public let number: Int64
  /// When it came there, RFC 3339.
  public let at: String
  /// The index of the operation that was refused, from 0.
  public let operation: Int
  /// Why; nil when the server's code is not known to this version.
  public let problem: Problem?
  /// The server's problem document (RFC 9457), JSON.
  public let document: String
  /// What it was to do, in order.
  public let operations: [QuarantinedOperation]
  /// The number of the change set without which this one could not be: it was to create a record that this one edits or refers to.
  public let because: Int64?
  /// The numbers of the later change sets that are here because of this one.
  public internal(set) var dependents: [Int64] = []

  /// Why, for a person.
  public var reason: String {
    if let problem { return problem.description }
    let document = try? JSONValue(parsing: document)
    return [document?["title"], document?["detail"], document?["remedy"]].compactMap { $0?.stringValue }
      .joined(separator: ". ")
  }

  static let query = "SELECT n, at, operation, problem, body, because FROM holdfast_quarantine ORDER BY n"

  /// The change sets of rows of `query`.
  static func all(_ rows: [[SQLiteValue]]) -> [QuarantinedChangeSet] {
    var dependents: [Int64: [Int64]] = [:]
    for row in rows {
      if let because = row[5].integer { dependents[because, default: []].append(row[0].integer ?? 0) }
    }
    return rows.map { row in
      let (number, document) = (row[0].integer ?? 0, row[3].text ?? "")
      return QuarantinedChangeSet(
        number: number, at: Timestamp.text(milliseconds: row[1].integer ?? 0),
        operation: Int(clamping: row[2].integer ?? 0), problem: Problem(document: Array(document.utf8)),
        document: document, operations: QuarantinedOperation.all(row[4].blob ?? []), because: row[5].integer,
        dependents: dependents[number] ?? [])
    }
  }
}

/// One create, update or delete of a change set in quarantine.
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

  /// An operation of its parts.
  ///
  /// - Parameter base: see `base`; a column whose policy combines edits (`counter`, `set`, `text`) takes the step from there to its value again.
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
      return QuarantinedOperation(
        kind, table: table, id: id, columns: columns(operation["columns"]), base: columns(operation["base"]))
    }
  }
}
