import HoldfastCore
import HoldfastSQLite

/// Unique values of the device's own transactions: looked at when a transaction is whole, so that the order of its statements does not decide.
/// The triggers, which look at each row, are for programs that know nothing of this library.
struct UniqueValues {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }

  /// Two records with one unique value, the first of which the transaction wrote.
  struct Clash {
    let table: Int
    let id: String
    let other: String
    let columns: [String]
  }

  /// How clashes of one group of columns are found.
  struct Search {
    let table: Int
    let columns: [String]
    let sql: String
  }

  /// Runs `body` without the triggers' word on unique values; the caller looks for clashes afterwards.
  func deferring<T>(_ body: () throws -> T) throws -> T { try deferred(body).result }

  /// The same, and looks for clashes.
  ///
  /// - Throws: `StoreError.uniqueTaken`.
  func checking<T>(_ body: () throws -> T) throws -> T {
    let (result, areWritten) = try deferred(body)
    if areWritten { try check() }
    return result
  }

  /// The mark for the triggers is made when a table is about to be written that has unique values: the page that has it need not be written else.
  private func deferred<T>(_ body: () throws -> T) throws -> (result: T, areWritten: Bool) {
    if database.clashes.isEmpty { return (try body(), false) }
    let mark = SQLiteValue.integer(DeviceTables.deferring)
    var areWritten = false
    let result = try connection.beforeWriting(database.uniqueTables) { [connection] () throws(SQLiteError) in
      areWritten = true
      // Each time, as a savepoint of the app may have taken it back.
      try connection.run("UPDATE holdfast_local SET applying = ? WHERE applying = 0", [mark])
    } in: {
      try body()
    }
    if areWritten { try connection.run("UPDATE holdfast_local SET applying = 0 WHERE applying = ?", [mark]) }
    return (result, areWritten)
  }

  /// Two records with one unique value, of which an edit that is in no change set yet wrote one; nil when there are none.
  func clash() throws -> Clash? {
    for search in database.clashes {
      let row = try connection.row(search.sql)
      if let id = row?[0].text, let other = row?[1].text {
        return Clash(table: search.table, id: id, other: other, columns: search.columns)
      }
    }
    return nil
  }

  /// - Throws: `StoreError.uniqueTaken`.
  func check() throws {
    guard let clash = try clash() else { return }
    throw StoreError(
      .uniqueTaken,
      "The record \(clash.other) of \(schema.tables[clash.table].name) has this \(clash.columns.joined(separator: ", ")) already. Choose another value, or change both in one transaction."
    )
  }

  /// The searches for clashes that a schema needs: one for each group of unique columns.
  static func searches(in schema: SyncSchema) -> [Search] {
    schema.tables.enumerated().flatMap { index, table in
      table.unique.map { Search(table: index, columns: $0, sql: clashes(of: $0, in: table)) }
    }
  }

  private static func clashes(of group: [String], in table: TableSchema) -> String {
    var columns = group
    if case .parent(let column) = table.zone { columns.append(column) }
    let written = columns.map { "'\($0)'" }.joined(separator: ", ")
    let same = group.map { "here.\"\($0)\" = mine.\"\($0)\"" }.joined(separator: " AND ")
    return """
      SELECT mine."id", here."id" FROM holdfast_edits AS edit
      CROSS JOIN "\(table.name)" AS mine ON mine."id" = edit.id
      CROSS JOIN "\(table.name)" AS here ON \(same) AND here."id" <> mine."id"
      WHERE edit.\(DeviceTables.isLoose) AND edit.record_table = '\(table.name)'
      AND (edit.kind = 'create' OR edit.kind = 'update' AND edit.column_name IN (\(written)))
      AND \(zone("mine", table)) IS \(zone("here", table)) LIMIT 1
      """
  }

  /// The zone in which a record will be: the column says so of one that was not moved here.
  private static func zone(_ row: String, _ table: TableSchema) -> String {
    guard case .parent(let column) = table.zone,
      let target = table.columns.first(where: { $0.name == column })?.reference?.table
    else { return "\(row).\"zone\"" }
    return "(SELECT \"zone\" FROM \"\(target)\" WHERE \"id\" = \(row).\"\(column)\")"
  }
}
