import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// The invitations in PostgreSQL.
final class PostgresInvitations: InvitationTable {
  private unowned let store: PostgresStore

  /// Searches all zones, because a token does not name its zone.
  fileprivate static let find: PostgresStatement = """
    SELECT i.id, i.zone, i.role, i.inviter, i.expires_at, i.uses FROM holdfast.invitations i WHERE i.token_hash = $1
    """
  fileprivate static let list: PostgresStatement = """
    SELECT i.id, i.zone, i.role, i.inviter, i.expires_at, i.uses, i.token_hash FROM holdfast.invitations i WHERE i.zone = $1
    ORDER BY i.id DESC
    """
  private static let count: PostgresStatement =
    "SELECT count(*) FROM holdfast.invitations WHERE zone = $1 AND uses > 0"
  private static let add: PostgresStatement = """
    INSERT INTO holdfast.invitations (zone, id, token_hash, role, inviter, expires_at, uses)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    """
  private static let change: PostgresStatement =
    "UPDATE holdfast.invitations SET uses = $3 WHERE zone = $1 AND id = $2"
  private static let drop: PostgresStatement =
    "DELETE FROM holdfast.invitations WHERE zone = $1 AND id = $2 RETURNING id"
  private static let sweep = PostgresStatement(
    """
    DELETE FROM holdfast.invitations WHERE zone = $1 AND (expires_at <= $2 OR uses = 0 AND id NOT IN
    (SELECT id FROM holdfast.invitations WHERE zone = $1 AND uses = 0 ORDER BY id DESC LIMIT \(Invitation.zoneLimit)))
    """)

  init(_ store: PostgresStore) { self.store = store }

  func invitation(_ token: TokenHash) throws -> Invitation? {
    try store.connection.query(Self.find, PostgresParameters(token.withBytes { Array($0) })).invitations.first
  }

  func count(of zone: String) throws -> Int {
    Int(try store.connection.query(Self.count, PostgresParameters(zone)).int64(0, 0))
  }

  func add(_ invitation: Invitation, _ token: TokenHash) throws {
    try store.connection.run(
      Self.add,
      PostgresParameters(
        invitation.zone, invitation.id, token.withBytes { Array($0) }, invitation.role.rawValue,
        invitation.inviter, invitation.expiresAt, invitation.uses))
  }

  func setUses(_ uses: Int64, of id: String, in zone: String) throws {
    try store.connection.run(Self.change, PostgresParameters(zone, id, uses))
  }

  func remove(_ id: String, from zone: String) throws -> Bool {
    try !store.connection.query(Self.drop, PostgresParameters(zone, id)).isEmpty
  }

  func sweep(_ zone: String, at now: Int64) throws {
    try store.connection.run(Self.sweep, PostgresParameters(zone, now))
  }
}

extension PostgresReader {
  package func invitations(to zone: String) throws -> [Invitation] {
    try connection.query(PostgresInvitations.list, PostgresParameters(zone)).invitations
  }

  package func invitationTokens(to zone: String) throws -> [(Invitation, TokenHash)] {
    let rows = try connection.query(PostgresInvitations.list, PostgresParameters(zone))
    return rows.indices.compactMap { row in
      guard let invitation = Invitation(rows, row), let hash = TokenHash(bytes: rows.bytes(row, 6)) else {
        return nil
      }
      return (invitation, hash)
    }
  }

  package func invitation(_ token: TokenHash) throws -> Invitation? {
    try connection.query(PostgresInvitations.find, PostgresParameters(token.withBytes { Array($0) }))
      .invitations.first
  }
}

extension PostgresRows {
  fileprivate var invitations: [Invitation] { indices.compactMap { Invitation(self, $0) } }
}

extension Invitation {
  fileprivate init?(_ rows: PostgresRows, _ row: Int) {
    self.init(
      id: rows.text(row, 0), zone: rows.text(row, 1), role: rows.text(row, 2), inviter: rows.text(row, 3),
      expiresAt: rows.int64(row, 4), uses: rows.int64(row, 5))
  }
}
