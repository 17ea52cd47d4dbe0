import HoldfastCore
import HoldfastSQLite

/// A record's edits taken again: on the server's record of now, or without those of a refused change set. See
/// PROTOCOL.md, section 6.4.
struct Rebase {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var sql: [TableStatements] { database.sql }
  private var policies: [TextMap<MergePolicy>] { database.policies }

  /// The steps from the server's record to the one here.
  func history(_ table: Int, _ id: String) throws -> RecordHistory {
    RecordHistory(
      try database.edits.of(table, id), current: try database.row(table, id).map { state(table, $0) },
      policies: policies[table])
  }

  /// A record with its values by the names of the columns.
  func state(_ table: Int, _ record: (zone: String?, rev: Int64, values: [Value])) -> RecordState {
    RecordState(
      zone: record.zone.map { .text($0) } ?? .null, rev: record.rev,
      values: TextMap(
        zip(sql[table].columns, record.values.map { SQLiteValue($0) })))
  }

  /// Takes the steps of a history again from a beginning, and keeps what comes of it.
  func replay(_ history: RecordHistory, from beginning: RecordState?, _ table: Int, _ id: String) throws {
    Trace.took(.replayed)
    let sealed = try database.sealedSets.columns(of: history.combiningSets, table, id)
    let (record, edits) = history.replayed(from: beginning, sealed: sealed)
    try connection.run(
      "DELETE FROM holdfast_edits WHERE record_table = ? AND id = ?",
      [.text(schema.tables[table].name), .text(id)])
    for edit in edits {
      try database.edits.record(
        edit.kind.rawValue, edit.column, table, id, base: edit.base, rev: edit.rev, at: edit.at,
        of: edit.changeSet.map { .integer($0) } ?? .null)
    }
    guard let record else { return try connection.run(sql[table].delete, [.text(id)]) }
    let values = schema.tables[table].columns.map { column -> SQLiteValue in
      guard let value = record.values[column.name], value != .null || !column.required else {
        return SQLiteValue(column.absentValue)
      }
      return value
    }
    try connection.run(sql[table].replace, [record.zone, .text(id), .integer(record.rev)] + values)
  }

  /// Takes over the server's record under this device's edits: a dirty column keeps its value, and the base of its oldest
  /// edit becomes the server's value; a record that is gone here stays so until the server agrees.
  ///
  /// - Parameter values: in the order of the table's columns.
  func onto(_ table: Int, _ id: String, zone: String, rev: Int64, values: [Value]) throws {
    var history = try history(table, id)
    // A page that waited is older than what another zone has brought since, also to a record that is deleted here.
    if let base = history.base, base.zone != .text(zone), base.rev > rev, try !isResync(base.zone.text) {
      return
    }
    Trace.took(.rebased)
    // A record that comes again is looked at again.
    history.dropConsequences()
    try replay(history, from: state(table, (zone, rev, values)), table, id)
  }

  private func isResync(_ zone: String?) throws -> Bool {
    guard let zone, let state = try ZoneStates(database: database).state(of: zone) else { return false }
    return state.resync != .none
  }

  /// Takes the edits of refused change sets back, all at once: what is left does not depend on an order among them. The triggers must
  /// be at rest.
  func rollBack(_ changeSets: [Int64]) throws -> RolledBack {
    var taken = RolledBack()
    if changeSets.isEmpty { return taken }
    let records = try connection.rows(
      """
      SELECT DISTINCT record_table, id FROM holdfast_edits WHERE change_set IN (SELECT value FROM json_each(?))
      ORDER BY record_table, id
      """, [.list(changeSets)])
    for record in records {
      guard let table = schema.index(of: record[0].text ?? ""), let id = record[1].text else { continue }
      var history = try history(table, id)
      let beginning = history.base
      let wasThere = try database.row(table, id) != nil
      let edits = try database.edits.of(table, id)
      if let deletion = edits.last(where: { $0.kind == .delete }) {
        taken.deletedBehind.formUnion(edits.prefix { $0.n < deletion.n }.compactMap(\.changeSet))
      }
      history.drop(changeSets)
      try replay(history, from: beginning, table, id)
      if !wasThere { taken.back.append(CreatedRecord(table: table, id: id)) }
    }
    return taken
  }
}
