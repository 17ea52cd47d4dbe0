import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// The invitations in SQLite.
final class SQLiteInvitations: InvitationTable {
  private let connection: SQLiteConnection

  init(on connection: SQLiteConnection) { self.connection = connection }

  func invitation(_ token: TokenHash) throws -> Invitation? { try Invitation.find(token, on: connection) }

  func count(of zone: String) throws -> Int {
    let count = try connection.value(
      "SELECT count(*) FROM holdfast_invitations WHERE zone = ? AND uses > 0", [.text(zone)])
    return Int(count?.integer ?? 0)
  }

  func add(_ invitation: Invitation, _ token: TokenHash) throws {
    try connection.run(
      """
      INSERT INTO holdfast_invitations (zone, id, token_hash, role, inviter, expires_at, uses)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(invitation.zone), .text(invitation.id), .blob(token.withBytes { Array($0) }),
        .text(invitation.role.rawValue), .text(invitation.inviter), .integer(invitation.expiresAt),
        .integer(invitation.uses),
      ])
  }

  func setUses(_ uses: Int64, of id: String, in zone: String) throws {
    try connection.run(
      "UPDATE holdfast_invitations SET uses = ? WHERE zone = ? AND id = ?",
      [.integer(uses), .text(zone), .text(id)])
  }

  func remove(_ id: String, from zone: String) throws -> Bool {
    let (condition, key) = ("WHERE zone = ? AND id = ?", [SQLiteValue.text(zone), .text(id)])
    if try connection.rows("SELECT 1 FROM holdfast_invitations \(condition)", key).isEmpty { return false }
    try connection.run("DELETE FROM holdfast_invitations \(condition)", key)
    return true
  }

  func sweep(_ zone: String, at now: Int64) throws {
    try connection.run(
      """
      DELETE FROM holdfast_invitations WHERE zone = ?1 AND (expires_at <= ?2 OR uses = 0 AND id NOT IN
      (SELECT id FROM holdfast_invitations WHERE zone = ?1 AND uses = 0 ORDER BY id DESC LIMIT \(Invitation.zoneLimit)))
      """, [.text(zone), .integer(now)])
  }
}
