import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// The consents of users in SQLite.
final class SQLiteConsents: ConsentTable {
  private let connection: SQLiteConnection
  private let roots: [String]

  init(_ schema: SyncSchema, on connection: SQLiteConnection) {
    self.connection = connection
    roots = schema.tables.filter { $0.zone == .root }.map(\.name)
  }

  func hasLeft(_ user: String, _ zone: String) throws -> Bool {
    try has("holdfast_left WHERE zone = ? AND user = ?", zone, user)
  }

  func leavers(of zone: String) throws -> TextSet {
    try texts("SELECT user FROM holdfast_left WHERE zone = ?", zone)
  }

  /// Stores that a user has left a zone, or returned to it.
  func set(_ hasLeft: Bool, _ member: ZoneUser) throws {
    try connection.run(
      hasLeft
        ? "INSERT OR IGNORE INTO holdfast_left (zone, user) VALUES (?, ?)"
        : "DELETE FROM holdfast_left WHERE zone = ? AND user = ?", [.text(member.zone), .text(member.user)])
  }

  func hasBlocked(_ user: String, _ other: String) throws -> Bool {
    try has("holdfast_blocks WHERE user = ? AND blocked = ?", user, other)
  }

  func blocked(by user: String, among others: [String]) throws -> TextSet {
    let rows = try connection.rows(
      """
      SELECT blocked FROM holdfast_blocks WHERE user = ?1 AND blocked IN (SELECT value FROM json_each(?2))
      """, [.text(user), .list(others)])
    return TextSet(rows.compactMap { $0[0].text })
  }

  func blockers(of other: String) throws -> TextSet {
    try texts("SELECT user FROM holdfast_blocks WHERE blocked = ?", other)
  }

  func blockCount(of user: String) throws -> Int {
    let count = try connection.value("SELECT count(*) FROM holdfast_blocks WHERE user = ?", [.text(user)])
    return Int(count?.integer ?? 0)
  }

  func setBlocked(_ isBlocked: Bool, _ other: String, by user: String) throws {
    try connection.run(
      isBlocked
        ? "INSERT OR IGNORE INTO holdfast_blocks (user, blocked) VALUES (?, ?)"
        : "DELETE FROM holdfast_blocks WHERE user = ? AND blocked = ?", [.text(user), .text(other)])
  }

  func sharedZone(of user: String, _ other: String, besides zones: [String]) throws -> String? {
    try connection.value(
      """
      SELECT a.zone FROM holdfast_access a JOIN holdfast_access b ON b.zone = a.zone AND b.user = ?2
      JOIN holdfast_zones z ON z.zone = a.zone AND z.public = 0 WHERE a.user = ?1 AND \(Self.isOther("?3")) LIMIT 1
      """, [.text(user), .text(other), .list(zones)])?.text
  }

  func zoneCount(of user: String, upTo limit: Int) throws -> Int {
    let count = try connection.value(
      "SELECT count(*) FROM (SELECT 1 FROM holdfast_access WHERE user = ? LIMIT ?)",
      [.text(user), .integer(Int64(limit))])
    return Int(count?.integer ?? 0)
  }

  func membershipCount(of user: String, upTo limit: Int) throws -> Int {
    let count = try connection.value(
      "SELECT count(*) FROM (SELECT 1 FROM members WHERE user = ? AND invited_by IS NULL LIMIT ?)",
      [.text(user), .integer(Int64(limit))])
    return Int(count?.integer ?? 0)
  }

  func bytes(of user: String) throws -> Int64 {
    try connection.value(
      """
      SELECT sum(z.bytes) FROM holdfast_access a JOIN holdfast_zones z ON z.zone = a.zone
      WHERE a.user = ? AND a.role = 'owner' AND z.public = 0
      """, [.text(user)])?.integer ?? 0
  }

  func endedZoneCount(of user: String, besides zones: [String]) throws -> Int {
    let isLive = (roots.map { "SELECT id FROM \"\($0)\"" } + ["SELECT id FROM holdfast_accounts"]).map {
      " AND NOT EXISTS (\($0) WHERE id = a.zone)"
    }
    let count = try connection.value(
      """
      SELECT count(*) FROM holdfast_access a JOIN holdfast_zones z ON z.zone = a.zone
      WHERE a.user = ?1 AND z.public = 0 AND \(Self.isOther("?2"))\(isLive.joined())
      """, [.text(user), .list(zones)])
    return Int(count?.integer ?? 0)
  }

  func inviters(of user: String) throws -> [(id: String, inviter: String)] {
    try connection.rows(
      """
      SELECT m.id, m.invited_by FROM members m JOIN holdfast_accounts a ON a.id = m.invited_by
      WHERE m.user = ? AND a.erasure = 0
      """, [.text(user)]
    ).map { ($0[0].text ?? "", $0[1].text ?? "") }
  }

  /// A condition: the zone of a row `a` of `holdfast_access` is not in a list.
  private static func isOther(_ list: String) -> String {
    "a.zone NOT IN (SELECT value FROM json_each(\(list)))"
  }

  private func has(_ source: String, _ one: String, _ other: String) throws -> Bool {
    try connection.value("SELECT 1 FROM \(source) LIMIT 1", [.text(one), .text(other)]) != nil
  }

  private func texts(_ sql: String, _ value: String) throws -> TextSet {
    TextSet(try connection.rows(sql, [.text(value)]).compactMap { $0[0].text })
  }
}
