import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// Stores query results in SQLite.
final class SQLiteResults: ResultTable {
  private let connection: SQLiteConnection

  init(on connection: SQLiteConnection) { self.connection = connection }

  func keep(_ result: KeptResult, at now: Int64) throws {
    var old = try connection.rows(
      "SELECT user, token_hash FROM holdfast_results WHERE expires <= ? OR expires > ? LIMIT ?",
      [.integer(now), .integer(now + KeptResult.life), .integer(Int64(KeptResult.sweep))])
    old += try connection.rows(
      "SELECT user, token_hash FROM holdfast_results WHERE user = ? ORDER BY expires DESC LIMIT -1 OFFSET ?",
      [.text(result.user), .integer(Int64(KeptResult.userLimit - 1))])
    for row in old {
      for table in ["holdfast_results", "holdfast_result_ids"] {
        try connection.run("DELETE FROM \(table) WHERE user = ? AND token_hash = ?", row)
      }
    }
    let (head, key) = (result.head, SQLiteValue.blob(result.token.withBytes { Array($0) }))
    try connection.run(
      """
      INSERT INTO holdfast_results (user, token_hash, record_table, shown, page_size, id_count, expires)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(result.user), key, .text(head.table), KeptResult.text(head.columns).map { .text($0) } ?? .null,
        .integer(Int64(head.limit)), .integer(Int64(head.count)), .integer(head.expires),
      ])
    for (number, chunk) in result.chunks.enumerated() {
      try connection.run(
        "INSERT INTO holdfast_result_ids (user, token_hash, chunk, ids) VALUES (?, ?, ?, ?)",
        [.text(result.user), key, .integer(Int64(number)), .text(chunk)])
    }
  }
}
