import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// Operator queries in SQLite.
final class SQLiteAdministration: StoreAdministration {
  let store: any StoreWriter
  let schema: SyncSchema
  let connection: SQLiteConnection

  init(_ store: SQLiteStore, _ schema: SyncSchema) {
    self.store = store
    self.schema = schema
    connection = store.connection
  }

  func zones() throws -> [[String]] {
    let records = schema.tables.filter { !$0.isBuiltIn }
      .map { "(SELECT count(*) FROM \"\($0.name)\" r WHERE r.zone = z.zone)" }.joined(separator: " + ")
    return try rows(
      """
      SELECT z.zone, CASE z.public WHEN 1 THEN 'yes' ELSE 'no' END, z.seq, z.purged,
      (SELECT count(*) FROM members m WHERE m.zone = z.zone), \(records), coalesce(z.left_for, '') FROM holdfast_zones z ORDER BY z.zone
      """)
  }

  func users() throws -> [[String]] {
    try rows(
      """
      SELECT a.id, \(Self.name), strftime('%Y-%m-%dT%H:%M:%SZ', a.created_at / 1000, 'unixepoch'),
      (SELECT count(*) FROM holdfast_devices d WHERE d.user = a.id) FROM holdfast_accounts a ORDER BY a.name
      """)
  }

  func devices() throws -> [[String]] {
    try rows(
      """
      SELECT d.id, \(Self.name), d.name, iif(\(KnownDevice.hasSession), 'yes', 'no'), d.confirmed,
      strftime('%Y-%m-%dT%H:%M:%SZ', d.seen_at / 1000, 'unixepoch')
      FROM holdfast_devices d JOIN holdfast_accounts a ON a.id = d.user ORDER BY a.name, d.number
      """)
  }

  func reset(_ device: String, zone: String?) throws -> Int {
    try connection.run(
      """
      UPDATE holdfast_acks SET lost = 1 WHERE device = (SELECT number FROM holdfast_devices WHERE id = ?1)
      AND epoch <> '' AND lost = 0 AND (?2 IS NULL OR zone = ?2)
      """, [.text(device), zone.map { .text($0) } ?? .null])
    return connection.changes
  }

  func interruption() -> @Sendable () -> Void {
    { [interrupter = connection.interrupter] in interrupter.interrupt() }
  }

  func tokens() throws -> [[String]] {
    try rows(
      """
      SELECT d.id, a.name, d.scope, strftime('%Y-%m-%dT%H:%M:%SZ', d.seen_at / 1000, 'unixepoch'),
      CASE WHEN d.token_hash IS NULL THEN 'no' ELSE 'yes' END
      FROM holdfast_devices d JOIN holdfast_accounts a ON a.id = d.user WHERE d.scope IS NOT NULL ORDER BY a.name
      """)
  }

  func user(ofDevice id: String) throws -> String? {
    try rows("SELECT user FROM holdfast_devices WHERE id = ?", [.text(id)]).first?[0]
  }

  func conflicts(limit: Int) throws -> [[String]] {
    try rows(
      """
      SELECT loser_at, zone, record_table, record_id, column_name, policy, coalesce(winner_value, iif(winner_at IS NULL, '(in the record)', '(deleted)')),
      loser_value, coalesce(resolution, 'open') FROM conflicts ORDER BY id DESC LIMIT ?
      """, [.integer(Int64(limit))])
  }

  func membership(of user: String, in zone: String) throws -> String? {
    try connection.value(
      "SELECT id FROM \(SQLiteTables.membersByUser) WHERE zone = ? AND user = ?", [.text(zone), .text(user)])?
      .text
  }

  /// The name of an account `a`, or the state of its erasure.
  private static let name =
    "CASE a.erasure WHEN 0 THEN a.name WHEN 1 THEN '(being erased)' ELSE '(erased)' END"

  private func rows(_ sql: String, _ values: [SQLiteValue] = []) throws -> [[String]] {
    try connection.rows(sql, values).map { row in
      row.map { value in
        switch value {
        case .null: ""
        case .integer(let number): String(number)
        case .real(let number): String(number)
        case .text(let text): text
        case .blob(let bytes): "(\(bytes.count) bytes)"
        }
      }
    }
  }
}
