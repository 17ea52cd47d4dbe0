import HoldfastCore
import HoldfastSQLite

/// The records that the server does not have, as the change set that was to create them is in quarantine: its number, by the record's id.
typealias LackingRecords = TextMap<Int64>

extension LocalDatabase {
  /// Reads them off the quarantine. A set that is there because of another one stands for that.
  func lackingRecords() throws -> LackingRecords {
    var lacking: LackingRecords = [:]
    let rows = try connection.rows("SELECT coalesce(because, n), body FROM holdfast_quarantine ORDER BY n")
    for row in rows {
      for operation in QuarantinedOperation.all(row[1].blob ?? []) where operation.kind == .create {
        lacking[operation.id] = row[0].integer
      }
    }
    return lacking
  }

  /// Moves a change set, whose edits are taken back, from the outbox into quarantine.
  ///
  /// - Parameter lacking: gets the records that this one was to create.
  func quarantine(
    first: Int64, body: [UInt8], operation: Int64, problem: [UInt8], _ taken: TakenBack,
    _ lacking: inout LackingRecords
  ) throws {
    let operations = QuarantinedOperation.all(body)
    var because: Int64?
    if let code = Problem(document: problem)?.code, code == .recordUnknown || code == .referenceMissing {
      for operation in operations where because == nil { because = reason(operation, lacking) }
    }
    try connection.run(
      "INSERT INTO holdfast_quarantine (at, operation, problem, body, because, deleted) VALUES (?, ?, ?, ?, ?, ?)",
      [
        .integer(try state().clock.milliseconds), .integer(max(0, operation &- first)),
        .text(String(decoding: problem, as: UTF8.self)), .blob(body), because.map { .integer($0) } ?? .null,
        .integer(taken.deletedBehind.contains(first) ? 1 : 0),
      ])
    Trace.took(.quarantined)
    let root = because ?? connection.lastInsertRowID
    for operation in operations where operation.kind == .create { lacking[operation.id] = root }
    try connection.run("DELETE FROM holdfast_outbox WHERE first = ?", [.integer(first)])
    try connection.run("DELETE FROM holdfast_undo WHERE change_set = ?", [.integer(first)])
  }

  /// The set that was to create what an operation edits or refers to.
  private func reason(_ operation: QuarantinedOperation, _ lacking: LackingRecords) -> Int64? {
    if operation.kind != .create, let set = lacking[operation.id] { return set }
    guard let table = schema.index(called: operation.table) else { return nil }
    // Its bytes may have the names of before.
    let references =
      schema.links(of: table).map { schema.tables[table].columns[$0.column] }
      .flatMap { [$0.name] + $0.was } + ["zone"]
    return references.lazy.compactMap { operation[$0]?.stringValue }.compactMap { lacking[$0] }.first
  }
}
