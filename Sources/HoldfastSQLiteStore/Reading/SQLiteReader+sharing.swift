import HoldfastCore
import HoldfastSQLite
import HoldfastService

extension SQLiteReader {
  package func pendingMemberships(of user: String) throws -> [PendingMembership] {
    try connection.rows(
      """
      SELECT m.id, m.zone, m.role, a.id, a.name FROM members m JOIN holdfast_accounts a ON a.id = m.invited_by
      JOIN holdfast_zones z ON z.zone = m.zone WHERE m.user = ?1 AND a.erasure = 0 AND z.left_for IS NULL
      AND NOT EXISTS (SELECT 1 FROM holdfast_blocks b WHERE b.user = ?1 AND b.blocked = m.invited_by)
      ORDER BY m.id DESC
      """, [.text(user)]
    ).map {
      PendingMembership(
        id: $0[0].text ?? "", zone: $0[1].text ?? "", role: $0[2].text ?? "", inviter: $0[3].text ?? "",
        inviterName: $0[4].text ?? "")
    }
  }

  func pendingZones(of user: String) throws -> [String] {
    try connection.rows(
      "SELECT zone FROM members WHERE user = ? AND invited_by IS NOT NULL ORDER BY zone", [.text(user)]
    ).compactMap { $0[0].text }
  }

  func leftZones(of user: String) throws -> [String] {
    try connection.rows(
      """
      SELECT m.zone FROM members m JOIN holdfast_zones z ON z.zone = m.zone WHERE m.user = ? AND z.left_for IS NOT NULL
      ORDER BY m.zone
      """, [.text(user)]
    ).compactMap { $0[0].text }
  }

  package func grants(of group: String) throws -> [GroupGrant] {
    try connection.rows(
      "SELECT id, zone, role FROM members WHERE \"group\" = ? ORDER BY id DESC", [.text(group)]
    ).map { GroupGrant(id: $0[0].text ?? "", zone: $0[1].text ?? "", role: $0[2].text ?? "") }
  }

  package func blocks(of user: String) throws -> [BlockedUser] {
    try connection.rows(
      """
      SELECT a.id, a.name FROM holdfast_blocks b JOIN holdfast_accounts a ON a.id = b.blocked
      WHERE b.user = ? AND a.erasure = 0 ORDER BY a.name
      """, [.text(user)]
    ).map { BlockedUser(id: $0[0].text ?? "", name: $0[1].text ?? "") }
  }

  package func ownRole(of user: String, in zone: String) throws -> Role? {
    try connection.value(
      "SELECT role FROM \(SQLiteTables.membersByUser) WHERE zone = ? AND user = ? AND invited_by IS NULL",
      [.text(zone), .text(user)])?.text.flatMap(Role.init)
  }

  package func invitations(to zone: String) throws -> [Invitation] {
    try Invitation.list(zone, on: connection)
  }

  package func invitationTokens(to zone: String) throws -> [(Invitation, TokenHash)] {
    try Invitation.tokens(to: zone, on: connection)
  }

  package func invitation(_ token: TokenHash) throws -> Invitation? {
    try Invitation.find(token, on: connection)
  }
}

extension Invitation {
  private static let columns =
    "SELECT id, zone, role, inviter, expires_at, uses, token_hash FROM holdfast_invitations"

  /// The invitation of a token, or nil.
  static func find(_ token: TokenHash, on connection: SQLiteConnection) throws -> Invitation? {
    try read("WHERE token_hash = ?", .blob(token.withBytes { Array($0) }), on: connection).first
  }

  /// The invitations to a zone.
  fileprivate static func list(_ zone: String, on connection: SQLiteConnection) throws -> [Invitation] {
    try read("WHERE zone = ? ORDER BY id DESC", .text(zone), on: connection)
  }

  private static func read(_ condition: String, _ value: SQLiteValue, on connection: SQLiteConnection) throws
    -> [Invitation]
  {
    try connection.rows("\(columns) \(condition)", [value]).compactMap(Self.init)
  }

  /// The invitations to a zone, with the hashes of their tokens.
  fileprivate static func tokens(
    to zone: String, on connection: SQLiteConnection
  ) throws -> [(Invitation, TokenHash)] {
    try connection.rows("\(columns) WHERE zone = ?", [.text(zone)]).compactMap { row in
      guard let invitation = Invitation(row), let hash = TokenHash(bytes: row[6].blob ?? []) else {
        return nil
      }
      return (invitation, hash)
    }
  }

  private init?(_ row: [SQLiteValue]) {
    self.init(
      id: row[0].text ?? "", zone: row[1].text ?? "", role: row[2].text ?? "", inviter: row[3].text ?? "",
      expiresAt: row[4].integer ?? 0, uses: row[5].integer ?? 0)
  }
}
