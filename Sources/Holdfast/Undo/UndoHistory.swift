import HoldfastCore
import HoldfastSQLite

/// What is kept of this device's own transactions, so that they can be undone. See docs/UNDO.md.
struct UndoHistory {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var rebase: Rebase { Rebase(database: database) }

  /// At most so many transactions are kept.
  static let limit = 100
  /// At most so many bytes, of all. A larger transaction, or one whose undo would be too large, leaves nothing to undo: what came before it must not be taken for the last.
  static let size = 4 << 20

  /// Keeps what a transaction has made. After it was sealed, which may bring values into another form.
  ///
  /// - Parameters:
  ///   - records: with the edits of the transaction.
  ///   - changeSet: the number of its first operation.
  /// - Returns: its number here; nil when there was nothing to keep, or too much.
  func keep(_ records: [LooseRecord], of changeSet: Int64) throws -> Int64? {
    var writer = JSONWriter(capacity: 512)
    writer.beginArray()
    var isEmpty = true
    // A choice between two edits is for good.
    for record in records where schema.tables[record.table].zone != .server {
      let after = try database.row(record.table, record.id).map { rebase.state(record.table, $0) }
      let before = RecordHistory(record.edits, current: after).base
      let name = schema.tables[record.table].name
      guard let change = UndoneRecord(name, record.id, from: before, to: after) else { continue }
      change.json.write(to: &writer)
      isEmpty = false
      if writer.count > Self.size || records.count > SyncRequest.operationLimit {
        try connection.run("DELETE FROM holdfast_undo")
        return nil
      }
    }
    if isEmpty { return nil }
    writer.endArray()
    let bytes = writer.bytes
    // A number is never given twice, as an app may hold it when its transaction is gone from here.
    try connection.run(
      """
      INSERT INTO holdfast_undo (n, change_set, at, size, total, changes)
      SELECT 1 + max(last_undo, coalesce((SELECT max(n) FROM holdfast_undo), 0)), ?1, ?2, ?3,
      ?3 + coalesce((SELECT total FROM holdfast_undo ORDER BY n DESC LIMIT 1), 0), ?4 FROM holdfast_local
      """,
      [
        .integer(changeSet), .integer(records.map(\.at).max() ?? 0), .integer(Int64(bytes.count)),
        .text(String(decoding: bytes, as: UTF8.self)),
      ])
    let number = connection.lastInsertRowID
    try connection.run("UPDATE holdfast_local SET last_undo = ?", [.integer(number)])
    try trim()
    return number
  }

  /// Removes the oldest transactions until no more are kept than may be. `total` is the size of a row and of all that came before it.
  private func trim() throws {
    while true {
      let kept = try connection.row(
        """
        SELECT (SELECT count(*) FROM holdfast_undo), (SELECT total FROM holdfast_undo ORDER BY n DESC LIMIT 1)
        - (SELECT total - size FROM holdfast_undo ORDER BY n LIMIT 1)
        """, [])
      guard let count = kept?[0].integer, let size = kept?[1].integer,
        count > Self.limit || size > Self.size
      else { return }
      try connection.run("DELETE FROM holdfast_undo WHERE n = (SELECT min(n) FROM holdfast_undo)")
    }
  }

  /// The transactions that are kept, the newest first.
  func undoable(limit: Int) throws -> [UndoableTransaction] {
    try connection.rows(
      "SELECT n, at, undoes, changes FROM holdfast_undo ORDER BY n DESC LIMIT ?", [.integer(Int64(limit))]
    ).map { row in
      var counts: [UndoableTransaction.Count] = []
      for change in changes(row[3]) {
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
  func last() throws -> Int64? {
    var undone: Set<Int64> = []
    for row in try connection.rows("SELECT n, undoes FROM holdfast_undo ORDER BY n DESC") {
      guard let number = row[0].integer, !undone.contains(number) else { continue }
      guard let undoes = row[1].integer else { return number }
      undone.insert(undoes)
    }
    return nil
  }

  /// What a transaction of this number made; nil when it is not kept.
  func records(_ number: Int64) throws -> [UndoneRecord]? {
    try connection.value("SELECT changes FROM holdfast_undo WHERE n = ?", [.integer(number)]).map(changes)
  }

  private func changes(_ text: SQLiteValue) -> [UndoneRecord] {
    let elements = text.text.flatMap { try? JSONValue(parsing: $0) }?.elements ?? []
    return elements.compactMap { UndoneRecord($0, schema) }
  }
}

extension UndoneRecord {
  /// What the transaction did to the record.
  var kind: HoldfastCore.RecordOperation.Kind { before == nil ? .create : after == nil ? .delete : .update }
}
