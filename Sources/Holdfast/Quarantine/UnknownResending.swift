import HoldfastCore
import HoldfastSQLite

/// What a server did not know of a newer app is sent again when it has another schema: docs/SCHEMA-CHANGES.md, section 3.
struct UnknownResending {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }

  /// Whether a server with another schema may take what was refused so.
  static func isUnknown(_ problem: Problem) -> Bool {
    problem.code == .unknownTable || problem.code == .unknownColumn
  }

  /// Writes such change sets again, oldest first, in the transaction of the answer that says the other schema. One that can't be written, or whose
  /// records have gone on since, or were deleted behind it, stays for a person.
  ///
  /// - Parameter seal: makes a change set of what was written.
  /// - Returns: whether there is something to send.
  func run(sealing seal: @escaping () throws -> Void) throws -> Bool {
    let rows = try connection.rows(
      "SELECT n, problem FROM holdfast_quarantine WHERE because IS NULL ORDER BY n")
    var isAny = false
    for row in rows {
      guard let number = row[0].integer, let problem = Problem(document: Array((row[1].text ?? "").utf8)),
        Self.isUnknown(problem),
        try isUntouched(number)
      else { continue }
      do {
        try connection.savepoint {
          try Resending(database: database, seal: { _ in try seal() }).resend(number)
        }
        Trace.took(.unknownSentAgain)
        isAny = true
      } catch let error as StoreError where [.operationRefused, .changeSetTooLarge].contains(error.code) {
        continue
      }
    }
    return isAny
  }

  /// Whether this app knows all that a set and those that depend on it name, and the records are as they were before them. What was written since under
  /// a record that they delete can't be told from what the person knew of.
  private func isUntouched(_ number: Int64) throws -> Bool {
    let sets = try connection.rows(
      "SELECT body, deleted FROM holdfast_quarantine WHERE n = ?1 OR because = ?1 ORDER BY n",
      [.integer(number)])
    if sets.contains(where: { $0[1].integer == 1 }) { return false }
    var created: TextSet = []
    for operation in sets.flatMap({ QuarantinedOperation.all($0[0].blob ?? []) }) {
      guard operation.kind != .delete, let table = schema.index(called: operation.table) else { return false }
      let columns = schema.tables[table].columns
      let here = try database.row(table, operation.id)
      if operation.kind == .create {
        if here != nil { return false }
        created.insert(operation.id)
      }
      for (name, value) in operation.columns where name != "zone" {
        guard let index = schema.tables[table].index(called: name) else {
          if value == .null { continue }
          return false
        }
        if operation.kind != .update || created.contains(operation.id) { continue }
        guard let here else { return false }
        let base = try? columns[index].value(of: operation.base[name])
        // A column that the server lost and has again is empty, whatever the edit was based on.
        if ![base.map { Value($0) }, columns[index].absentValue].contains(here.values[index]) {
          return false
        }
      }
    }
    return true
  }
}
