import HoldfastCore
import HoldfastSQLite

/// Records that were deleted and created again before they were sealed.
struct RecreatedRecords {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }

  /// Makes of what happened to such a record an update of the columns that differ, as an INSERT OR REPLACE is one. Its deletion would take along, on
  /// the server, records that refer to it and are here, and those that others have added. A member is in no record's way, and its zone can't be
  /// updated.
  ///
  /// - Returns: the record with the edits that it has now; nil when nothing differs. Any other record as it is.
  func asUpdate(_ record: LooseRecord) throws -> LooseRecord? {
    let table = database.schema.tables[record.table]
    guard record.isRecreated, table.zone != .explicit, let row = try database.row(record.table, record.id)
    else { return record }
    let now = Rebase(database: database).state(record.table, row)
    guard let before = RecordHistory(record.edits, current: now).base else { return record }
    try database.whileApplying {
      try connection.run(
        "UPDATE \"\(table.name)\" SET \"zone\" = coalesce(?, \"zone\"), \"rev\" = ? WHERE \"id\" = ?",
        [before.zone, .integer(before.rev), .text(record.id)])
    }
    try connection.run(
      "DELETE FROM holdfast_edits WHERE change_set IS NULL AND record_table = ? AND id = ?",
      [.text(table.name), .text(record.id)])
    let waiting = try database.edits.of(record.table, record.id)
    var updated = LooseRecord(table: record.table, id: record.id, at: record.at)
    for (index, column) in table.columns.enumerated() {
      let base = before.values[column.name] ?? .null
      if base == now.values[column.name] { continue }
      let rev = waiting.last { $0.column == column.name }?.rev ?? before.rev
      try database.edits.record(
        "update", column.name, record.table, record.id, base: base, rev: rev, at: record.at)
      let edit = Edit(
        n: connection.lastInsertRowID, changeSet: nil, kind: .update, column: column.name, base: base,
        rev: rev, at: record.at)
      updated.add(edit, index)
    }
    return updated.edits.isEmpty ? nil : updated
  }
}
