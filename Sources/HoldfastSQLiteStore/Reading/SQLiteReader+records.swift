import HoldfastCore
import HoldfastSQLite
import HoldfastService

extension SQLiteReader {
  /// The statements that read the records of one table by id.
  struct RecordStatements {
    let live: Statement
    let deleted: Statement
  }

  package func records(_ ids: [String], of table: Int, for user: String?) throws -> TextMap<SeenRecord> {
    let statements = try statements(of: table)
    var found: TextMap<SeenRecord> = [:]
    for id in ids where found[id] == nil {
      found[id] = try live(id, table, user, statements.live) ?? deleted(id, user, statements.deleted)
    }
    return found
  }

  private func live(
    _ id: String, _ table: Int, _ user: String?, _ statement: Statement
  ) throws -> SeenRecord? {
    try statement.bind(id, at: 1)
    try statement.bind(user.map { SQLiteValue.text($0) } ?? .null, at: 2)
    defer { statement.reset() }
    guard try statement.step() else { return nil }
    let record = StoredRecord(
      table: table, id: id, zone: statement.text(0), seq: statement.integer(1), rev: statement.integer(2),
      stamps: statement.text(3),
      values: schema.tables[table].columns.indices.map { statement.columnValue(5 + $0) })
    return .live(record, creator: statement.columnValue(4).text)
  }

  private func deleted(_ id: String, _ user: String?, _ statement: Statement) throws -> SeenRecord? {
    try statement.bind(id, at: 1)
    try statement.bind(user.map { SQLiteValue.text($0) } ?? .null, at: 2)
    defer { statement.reset() }
    guard try statement.step() else { return nil }
    return .deleted(
      Tombstone(
        zone: statement.text(0), rev: statement.integer(1), stamp: Stamp(rawValue: statement.integer(2)),
        device: statement.integer(3), deletedSeq: statement.integer(4), seq: statement.integer(5)))
  }

  private func statements(of table: Int) throws -> RecordStatements {
    if let known = recordStatements[table] { return known }
    let name = schema.tables[table].name
    let columns = schema.tables[table].columns.map { ", r.\"\($0.name)\"" }.joined()
    // Visible to: members of the zone, all users if the zone is public, and the server itself.
    let mayRead = """
      JOIN holdfast_zones z ON z.zone = r.zone
      WHERE r.id = ?1 AND (z.public = 1 OR ?2 IS NULL
        OR EXISTS (SELECT 1 FROM holdfast_access m WHERE m.zone = r.zone AND m.user = ?2))
      """
    let statements = RecordStatements(
      live: try connection.statement(
        """
        SELECT r.zone, r.seq, r.rev, r.stamps,
          (SELECT c.request_id FROM holdfast_created c
           WHERE c.record_id = r.id AND c.record_table = '\(name)' AND c.user = ?2)\(columns)
        FROM "\(name)" r \(mayRead)
        """),
      deleted: try connection.statement(
        """
        SELECT r.zone, r.rev, r.stamp, r.device, r.deleted_seq, r.seq FROM holdfast_tombstones r \(mayRead)
        AND r.record_table = '\(name)' AND r.departed = 0
        """))
    recordStatements[table] = statements
    return statements
  }
}
