import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// The invitations in SQLite.
final class SQLiteInvitations: InvitationTable {
  private static let columns = "SELECT id, zone, role, inviter, expires_at, uses FROM holdfast_invitations"
  private let connection: SQLiteConnection

  init(on connection: SQLiteConnection) { self.connection = connection }

  func invitation(_ token: TokenHash) throws -> Invitation? { try Self.find(token, on: connection) }

  /// The same for readers.
  static func find(_ token: TokenHash, on connection: SQLiteConnection) throws -> Invitation? {
    try read("WHERE token_hash = ?", .blob(token.withBytes { Array($0) }), on: connection).first
  }

  static func list(_ zone: String, on connection: SQLiteConnection) throws -> [Invitation] {
    try read("WHERE zone = ? ORDER BY id DESC", .text(zone), on: connection)
  }

  private static func read(_ condition: String, _ value: SQLiteValue, on connection: SQLiteConnection) throws
    -> [Invitation]
  {
    try connection.rows("\(columns) \(condition)", [value]).compactMap { row in
      Invitation(
        id: row[0].text ?? "", zone: row[1].text ?? "", role: row[2].text ?? "", inviter: row[3].text ?? "",
        expiresAt: row[4].integer ?? 0, uses: row[5].integer ?? 0)
    }
  }

  func count(of zone: String) throws -> Int {
    let count = try connection.value(
      "SELECT count(*) FROM holdfast_invitations WHERE zone = ?", [.text(zone)])
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
      "DELETE FROM holdfast_invitations WHERE zone = ? AND expires_at <= ?",
      [.text(zone), .integer(now)])
  }
}

extension SQLiteReader {
  package func invitations(to zone: String) throws -> [Invitation] {
    try SQLiteInvitations.list(zone, on: connection)
  }

  package func invitation(_ token: TokenHash) throws -> Invitation? {
    try SQLiteInvitations.find(token, on: connection)
  }
}
