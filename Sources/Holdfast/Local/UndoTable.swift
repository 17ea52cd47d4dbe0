import HoldfastCore
import HoldfastSQLite

/// What undoes this device's own transactions: in the outbox beside the change set, and in `holdfast_undo` when the server has that. See docs/UNDO.md.
struct UndoTable {
  let connection: SQLiteConnection

  /// At most so many transactions are kept.
  static let limit = 100
  /// At most so many bytes, of all. A larger transaction, or one whose undo would be too large, leaves nothing to undo.
  static let size = 4 << 20

  /// An SQL table: what is kept. The outbox has more, until it is confirmed. The changes are looked up by `changes(_:)`: only their
  /// sizes are read here, which blobs have in the heads of their rows.
  static let kept = """
    (SELECT n, at, undoes FROM (SELECT n, at, undoes, sum(size) OVER (ORDER BY n DESC) AS total FROM (
      SELECT * FROM (SELECT undo AS n, at, undoes, length(changes) AS size FROM holdfast_outbox
        WHERE typeof(changes) <> 'null' ORDER BY first DESC LIMIT \(limit))
      UNION ALL SELECT n, at, undoes, length(changes) FROM holdfast_undo ORDER BY n DESC LIMIT \(limit)
    )) WHERE total <= \(size))
    """

  /// Whether a transaction of this number can be undone.
  func keeps(_ number: Int64) throws -> Bool {
    try connection.value("SELECT 1 FROM \(Self.kept) WHERE n = ?", [.integer(number)]) != nil
  }

  /// What a transaction of this number changed.
  func changes(_ number: Int64) throws -> [UInt8]? {
    try connection.value(
      """
      SELECT changes FROM holdfast_undo WHERE n = ?1
      UNION ALL SELECT changes FROM holdfast_outbox WHERE undo = ?1 AND changes IS NOT NULL LIMIT 1
      """, [.integer(number)])?.blob
  }

  /// Removes change sets that the server has from the outbox, and keeps what undoes them.
  ///
  /// - Parameter sets: an SQL condition on `holdfast_outbox`.
  func settle(_ sets: String, _ values: [SQLiteValue]) throws {
    try connection.run(
      """
      INSERT OR REPLACE INTO holdfast_undo (n, at, undoes, changes) SELECT undo, at, undoes, changes FROM holdfast_outbox
      WHERE \(sets) AND changes IS NOT NULL ORDER BY first DESC LIMIT \(Self.limit)
      """, values)
    let isAny = connection.changes > 0
    try connection.run("DELETE FROM holdfast_outbox WHERE \(sets)", values)
    if isAny {
      try connection.run("DELETE FROM holdfast_undo WHERE n NOT IN (SELECT n FROM \(Self.kept))")
    }
  }

  /// Removes a transaction from those that `undo()` takes.
  func passOver(_ number: Int64) throws {
    try connection.run("UPDATE holdfast_undo SET undoes = 0 WHERE n = ?", [.integer(number)])
    try connection.run(
      "UPDATE holdfast_outbox SET undoes = 0 WHERE undo = ? AND changes IS NOT NULL", [.integer(number)])
  }

  /// Leaves nothing to undo.
  func removeAll() throws {
    try connection.run("DELETE FROM holdfast_undo")
    try connection.run("UPDATE holdfast_outbox SET changes = NULL WHERE changes IS NOT NULL")
  }
}
