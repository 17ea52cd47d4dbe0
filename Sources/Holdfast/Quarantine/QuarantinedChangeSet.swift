public import HoldfastCore
import HoldfastSQLite

/// A change set that the server refused for good, whole. See PROTOCOL.md, section 6.6.
///
/// ```swift
/// for refused in try await store.quarantined() {
///   print(refused.reason, refused.operations.count)
/// }
/// ```
public struct QuarantinedChangeSet: Sendable, Hashable {
  /// The name of the database whose file it is in; nil in a store that is in no folder.
  public let database: String?
  /// Its number in the quarantine of that file.
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
}

extension QuarantinedChangeSet {
  /// The change sets in quarantine, oldest first, as a transaction sees them; for a live value: `store.live { try QuarantinedChangeSet.all(in: $0).count }`.
  public static func all(in database: Database) throws -> [QuarantinedChangeSet] {
    try all(in: database.local)
  }

  /// Of several files each has its own; those of one time come in the order of the files.
  static func all(in local: LocalDatabase) throws -> [QuarantinedChangeSet] {
    let files = local.fileNames
    let sets = try files.flatMap { try all(of: $0, $0 == "main" ? local.databaseInFolder : $0, on: local) }
    if files.count == 1 { return sets }
    return sets.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
  }

  private static func all(
    of file: String, _ database: String?, on local: LocalDatabase
  ) throws -> [QuarantinedChangeSet] {
    let rows = try local.connection.rows(
      """
      SELECT n, at, operation, problem, body, because FROM \(SQLiteName.quoted(file)).holdfast_quarantine ORDER BY n
      """)
    var dependents: [Int64: [Int64]] = [:]
    for row in rows {
      if let because = row[5].integer { dependents[because, default: []].append(row[0].integer ?? 0) }
    }
    return rows.map { row in
      let (number, document) = (row[0].integer ?? 0, row[3].text ?? "")
      return QuarantinedChangeSet(
        database: database, number: number, at: Timestamp.text(milliseconds: row[1].integer ?? 0),
        operation: Int(clamping: row[2].integer ?? 0), problem: Problem(document: Array(document.utf8)),
        document: document, operations: QuarantinedOperation.all(row[4].blob ?? []), because: row[5].integer,
        dependents: dependents[number] ?? [])
    }
  }
}
