import HoldfastCore
import HoldfastSQLite

/// The refused change sets that wait here, complete. See PROTOCOL.md, section 6.6.
package struct Quarantine {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }

  package init(database: LocalDatabase) { self.database = database }

  /// Reads them off the quarantine. A set that is there because of another one stands for that.
  func lackingRecords() throws -> LackingRecords {
    var lacking = LackingRecords()
    let rows = try connection.rows("SELECT coalesce(because, n), body FROM holdfast_quarantine ORDER BY n")
    for row in rows {
      guard let set = row[0].integer else { continue }
      note(QuarantinedOperation.all(row[1].blob ?? []), of: set, in: &lacking)
    }
    return lacking
  }

  private func note(_ operations: [QuarantinedOperation], of set: Int64, in lacking: inout LackingRecords) {
    for operation in operations where operation.kind == .create {
      if let table = schema.index(called: operation.table) { lacking[table, operation.id] = set }
    }
  }

  /// Moves a change set, whose edits are rolled back, from the outbox into quarantine.
  ///
  /// - Parameters:
  ///   - origin: what copies of this device have in common with it of the set, should it be carried to another database.
  ///   - lacking: gets the records that this one was to create.
  func add(
    first: Int64, body: [UInt8], operation: Int64, problem: [UInt8], origin: String? = nil,
    _ taken: RolledBack, _ lacking: inout LackingRecords
  ) throws {
    let operations = QuarantinedOperation.all(body)
    var because: Int64?
    if let code = Problem(document: problem)?.code, code == .recordUnknown || code == .referenceMissing {
      for operation in operations where because == nil { because = reason(operation, lacking) }
    }
    try connection.run(
      """
      INSERT INTO holdfast_quarantine (at, operation, problem, body, because, deleted, origin) VALUES (?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .integer(try database.clock().milliseconds), .integer(max(0, operation &- first)),
        .text(String(decoding: problem, as: UTF8.self)), .blob(body), because.map { .integer($0) } ?? .null,
        .integer(taken.deletedBehind.contains(first) ? 1 : 0), origin.map { .text($0) } ?? .null,
      ])
    Trace.took(.quarantined)
    let root = because ?? connection.lastInsertRowID
    note(operations, of: root, in: &lacking)
    try connection.run("DELETE FROM holdfast_outbox WHERE first = ?", [.integer(first)])
  }

  /// Takes change sets that were read from a damaged file. The server may have them already.
  ///
  /// - Returns: how many.
  func add(rescued bodies: [[UInt8]]) throws -> Int {
    var lacking = try lackingRecords()
    let problem = Problem(.changeSetUncertain).document
    for body in bodies {
      try add(first: -1, body: body, operation: -1, problem: problem, RolledBack(), &lacking)
    }
    return bodies.count
  }

  /// The set that was to create what an operation edits or refers to.
  private func reason(_ operation: QuarantinedOperation, _ lacking: LackingRecords) -> Int64? {
    guard let table = schema.index(called: operation.table) else { return nil }
    if operation.kind != .create, let set = lacking[table, operation.id] { return set }
    for link in schema.links(of: table) {
      let column = schema.tables[table].columns[link.column]
      // Its bytes may have the names of before.
      let parent = ([column.name] + column.was).lazy.compactMap { operation[$0]?.stringValue }.first
      if let parent, let set = lacking[link.target, parent] { return set }
    }
    guard let zone = operation["zone"]?.stringValue else { return nil }
    return schema.tables.indices.filter { schema.tables[$0].zone == .root }
      .lazy.compactMap { lacking[$0, zone] }.first
  }

  /// Removes a set and its dependents.
  ///
  /// - Throws: `StoreError.recordMissing` when there is none of this number.
  package func remove(_ number: Int64) throws {
    try connection.run("DELETE FROM holdfast_quarantine WHERE n = ?1 OR because = ?1", [.integer(number)])
    if connection.changes == 0 {
      throw StoreError(.recordMissing, "There is no change set \(number) in quarantine.")
    }
  }
}
