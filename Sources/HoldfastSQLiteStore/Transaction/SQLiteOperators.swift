import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// Stores the audit log and the console's samples in SQLite.
final class SQLiteOperators: OperatorTable {
  private let connection: SQLiteConnection

  init(on connection: SQLiteConnection) { self.connection = connection }

  func add(_ entry: AuditEntry, id: String, at now: Int64) throws {
    try connection.run(
      """
      INSERT INTO holdfast_audit (id, at, action, target, detail, operator, node, address) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """, [.text(id), .integer(entry.at)] + entry.texts.map { .text($0) })
    try connection.run("DELETE FROM holdfast_audit WHERE at < ?", [.integer(now - AuditEntry.life)])
    try connection.run(
      "DELETE FROM holdfast_audit WHERE id <= (SELECT id FROM holdfast_audit ORDER BY id DESC LIMIT 1 OFFSET ?)",
      [.integer(Int64(AuditEntry.countLimit))])
  }

  func put(_ samples: [StoredSample], at now: Int64) throws {
    for sample in samples {
      try connection.run(
        "INSERT OR REPLACE INTO holdfast_samples (node, span, at, content) VALUES (?, ?, ?, ?)",
        [
          .text(sample.node), .integer(sample.span.rawValue), .integer(sample.at), .text(sample.content),
        ])
    }
    for span in StoredSample.Span.allCases {
      try connection.run(
        "DELETE FROM holdfast_samples WHERE span = ? AND at < ?",
        [.integer(span.rawValue), .integer(now / 1000 - span.life)])
    }
  }
}
