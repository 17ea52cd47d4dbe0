import HoldfastCore
import HoldfastSQLite

/// What is kept of this device's own transactions, so that they can be undone. See docs/UNDO.md.
struct UndoHistory {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var undo: UndoTable { UndoTable(connection: connection) }

  /// The transactions that are kept, the newest first.
  func undoable(limit: Int) throws -> [UndoableTransaction] {
    try connection.rows(
      "SELECT n, at, undoes FROM \(UndoTable.kept) ORDER BY n DESC LIMIT ?", [.integer(Int64(limit))]
    ).map { row in
      var counts: [UndoableTransaction.Count] = []
      for change in try changes(row[0].integer ?? 0) {
        let kind = change.kind
        if let index = counts.firstIndex(where: { $0.table == change.table && $0.kind == kind }) {
          counts[index].records += 1
        } else {
          counts.append(.init(table: change.table, kind: kind, records: 1))
        }
      }
      return UndoableTransaction(
        number: row[0].integer ?? 0, at: Timestamp.text(milliseconds: row[1].integer ?? 0),
        undoes: row[2].integer.flatMap { $0 == 0 ? nil : $0 }, counts: counts)
    }
  }

  /// The last transaction that is neither an undo nor undone, nor one of which nothing could be undone (`undoes` is 0).
  ///
  /// - Returns: its number, and when it was written, in milliseconds since 1970.
  func last() throws -> (number: Int64, at: Int64)? {
    var undone: Set<Int64> = []
    for row in try connection.rows("SELECT n, undoes, at FROM \(UndoTable.kept) ORDER BY n DESC") {
      guard let number = row[0].integer, !undone.contains(number) else { continue }
      guard let undoes = row[1].integer else { return (number, row[2].integer ?? 0) }
      undone.insert(undoes)
    }
    return nil
  }

  /// What a transaction of this number made; nil when it is not kept.
  func records(_ number: Int64) throws -> [UndoneRecord]? {
    try undo.keeps(number) ? changes(number) : nil
  }

  private func changes(_ number: Int64) throws -> [UndoneRecord] {
    let json = try undo.changes(number).flatMap { try? JSONValue(parsing: $0) }
    return (json?.elements ?? []).compactMap { UndoneRecord($0, schema) }
  }
}

extension UndoneRecord {
  /// What the transaction did to the record.
  var kind: HoldfastCore.RecordOperation.Kind { before == nil ? .create : after == nil ? .delete : .update }
}
