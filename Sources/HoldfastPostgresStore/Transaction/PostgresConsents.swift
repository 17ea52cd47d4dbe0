import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// The consents of users in PostgreSQL.
final class PostgresConsents: ConsentTable {
  private unowned let store: PostgresStore

  private static let findLeft: PostgresStatement =
    "SELECT l.zone FROM holdfast.departures l WHERE l.zone = $1 AND l.\"user\" = $2"
  private static let findLeavers: PostgresStatement =
    "SELECT l.\"user\" FROM holdfast.departures l WHERE l.zone = $1"
  private static let addLeft: PostgresStatement =
    "INSERT INTO holdfast.departures (zone, \"user\") VALUES ($1, $2) ON CONFLICT (zone, \"user\") DO NOTHING"
  private static let dropLeft: PostgresStatement =
    "DELETE FROM holdfast.departures WHERE zone = $1 AND \"user\" = $2"
  private static let findBlock: PostgresStatement =
    "SELECT b.blocked FROM holdfast.blocks b WHERE b.account = $1 AND b.blocked = $2"
  private static let findBlocked: PostgresStatement =
    "SELECT b.blocked FROM holdfast.blocks b WHERE b.account = $1 AND b.blocked = ANY ($2)"
  private static let findBlockers: PostgresStatement =
    "SELECT b.account FROM holdfast.blocks b WHERE b.blocked = $1"
  private static let countBlocks: PostgresStatement =
    "SELECT count(*) FROM holdfast.blocks b WHERE b.account = $1"
  private static let addBlock: PostgresStatement = """
    INSERT INTO holdfast.blocks (account, blocked) VALUES ($1, $2) ON CONFLICT (account, blocked) DO NOTHING
    """
  private static let dropBlock: PostgresStatement =
    "DELETE FROM holdfast.blocks WHERE account = $1 AND blocked = $2"
  private static let findShared: PostgresStatement = """
    SELECT a.zone FROM holdfast.access a JOIN holdfast.access b ON b.zone = a.zone AND b."user" = $2
    JOIN holdfast.zones z ON z.zone = a.zone AND NOT z.public WHERE a."user" = $1 AND a.zone <> ALL ($3) LIMIT 1
    """
  private static let countZones: PostgresStatement = """
    SELECT count(*) FROM (SELECT a.zone FROM holdfast.access a WHERE a."user" = $1 LIMIT $2) z
    """
  private static let countMemberships: PostgresStatement = """
    SELECT count(*) FROM (SELECT FROM holdfast.members m WHERE m."user" = $1 AND m.invited_by IS NULL LIMIT $2) z
    """
  private static let sumBytes: PostgresStatement = """
    SELECT coalesce(sum(z.bytes), 0)::bigint FROM holdfast.access a JOIN holdfast.zones z ON z.zone = a.zone
    WHERE a."user" = $1 AND a.role = 'owner' AND NOT z.public
    """
  private static let countEnded: PostgresStatement = """
    SELECT count(*) FROM holdfast.access a JOIN holdfast.zones z ON z.zone = a.zone AND NOT z.public
    LEFT JOIN holdfast.records r ON r.zone = a.zone AND r.id = a.zone AND r.record_table = ANY ($2) AND r.state = 0
    LEFT JOIN holdfast.accounts u ON u.id = a.zone
    WHERE a."user" = $1 AND a.zone <> ALL ($3) AND r.id IS NULL AND u.id IS NULL
    """
  private static let findInviters: PostgresStatement = """
    SELECT m.id, m.invited_by FROM holdfast.members m JOIN holdfast.accounts a ON a.id = m.invited_by
    WHERE m."user" = $1 AND a.erasure = 0
    """

  init(_ store: PostgresStore) { self.store = store }

  func hasLeft(_ user: String, _ zone: String) throws -> Bool {
    try !store.reading.query(Self.findLeft, PostgresParameters(zone, user)).isEmpty
  }

  func leavers(of zone: String) throws -> TextSet {
    TextSet(try store.reading.query(Self.findLeavers, PostgresParameters(zone)).texts)
  }

  /// Writes which users have left which zones, or returned.
  static func write(_ left: [(member: ZoneUser, hasLeft: Bool)], _ pipe: PostgresPipeline) {
    for (member, hasLeft) in left {
      pipe.send(hasLeft ? addLeft : dropLeft, PostgresParameters(member.zone, member.user))
    }
  }

  func hasBlocked(_ user: String, _ other: String) throws -> Bool {
    try !store.reading.query(Self.findBlock, PostgresParameters(user, other)).isEmpty
  }

  func blocked(by user: String, among others: [String]) throws -> TextSet {
    var parameters = PostgresParameters(user)
    parameters.append(array: others)
    return TextSet(try store.reading.query(Self.findBlocked, parameters).texts)
  }

  func blockers(of other: String) throws -> TextSet {
    TextSet(try store.reading.query(Self.findBlockers, PostgresParameters(other)).texts)
  }

  func blockCount(of user: String) throws -> Int {
    Int(try store.reading.query(Self.countBlocks, PostgresParameters(user)).int64(0, 0))
  }

  func setBlocked(_ isBlocked: Bool, _ other: String, by user: String) throws {
    try store.connection.run(isBlocked ? Self.addBlock : Self.dropBlock, PostgresParameters(user, other))
  }

  func sharedZone(of user: String, _ other: String, besides zones: [String]) throws -> String? {
    var parameters = PostgresParameters(user, other)
    parameters.append(array: zones)
    return try store.reading.query(Self.findShared, parameters).texts.first
  }

  func zoneCount(of user: String, upTo limit: Int) throws -> Int {
    var parameters = PostgresParameters(user)
    parameters.append(Int64(limit))
    return Int(try store.reading.query(Self.countZones, parameters).int64(0, 0))
  }

  func membershipCount(of user: String, upTo limit: Int) throws -> Int {
    var parameters = PostgresParameters(user)
    parameters.append(Int64(limit))
    return Int(try store.reading.query(Self.countMemberships, parameters).int64(0, 0))
  }

  func bytes(of user: String) throws -> Int64 {
    try store.reading.query(Self.sumBytes, PostgresParameters(user)).int64(0, 0)
  }

  func endedZoneCount(of user: String, besides zones: [String]) throws -> Int {
    var parameters = PostgresParameters(user)
    parameters.append(array: store.schema.tables.filter { $0.zone == .root }.map(\.name))
    parameters.append(array: zones)
    return Int(try store.reading.query(Self.countEnded, parameters).int64(0, 0))
  }

  func inviters(of user: String) throws -> [(id: String, inviter: String)] {
    let rows = try store.reading.query(Self.findInviters, PostgresParameters(user))
    return rows.indices.map { (rows.text($0, 0), rows.text($0, 1)) }
  }
}

extension PostgresReader {
  private static let findPending: PostgresStatement = """
    SELECT m.id, m.zone, m.role, a.id, a.name FROM holdfast.members m JOIN holdfast.accounts a ON a.id = m.invited_by
    JOIN holdfast.zones z ON z.zone = m.zone WHERE m."user" = $1 AND a.erasure = 0 AND z.left_for IS NULL
    """
  fileprivate static let findLeftZones: PostgresStatement = """
    SELECT m.zone FROM holdfast.members m JOIN holdfast.zones z ON z.zone = m.zone
    WHERE m."user" = $1 AND z.left_for IS NOT NULL
    """
  private static let findPendingZones: PostgresStatement =
    "SELECT m.zone FROM holdfast.members m WHERE m.\"user\" = $1 AND m.invited_by IS NOT NULL"
  private static let findGrants: PostgresStatement =
    "SELECT m.id, m.zone, m.role FROM holdfast.members m WHERE m.\"group\" = $1"
  private static let findBlocks: PostgresStatement = """
    SELECT a.id, a.name FROM holdfast.blocks b JOIN holdfast.accounts a ON a.id = b.blocked
    WHERE b.account = $1 AND a.erasure = 0
    """
  private static let findOwnRole: PostgresStatement = """
    SELECT m.role FROM holdfast.members m WHERE m.zone = $1 AND m."user" = $2 AND m.invited_by IS NULL
    """

  package func pendingMemberships(of user: String) throws -> [PendingMembership] {
    let blocked = TextSet(try blocks(of: user).map(\.id))
    let rows = try connection.query(Self.findPending, PostgresParameters(user))
    return rows.indices.map {
      PendingMembership(
        id: rows.text($0, 0), zone: rows.text($0, 1), role: rows.text($0, 2), inviter: rows.text($0, 3),
        inviterName: rows.text($0, 4))
    }.filter { !blocked.contains($0.inviter) }.sorted { $0.id > $1.id }
  }

  func leftZones(of user: String) throws -> [String] {
    try connection.query(Self.findLeftZones, PostgresParameters(user)).texts.sorted()
  }

  func pendingZones(of user: String) throws -> [String] {
    try connection.query(Self.findPendingZones, PostgresParameters(user)).texts.sorted()
  }

  package func grants(of group: String) throws -> [GroupGrant] {
    let rows = try connection.query(Self.findGrants, PostgresParameters(group))
    return rows.indices.map {
      GroupGrant(id: rows.text($0, 0), zone: rows.text($0, 1), role: rows.text($0, 2))
    }.sorted { $0.id > $1.id }
  }

  package func blocks(of user: String) throws -> [BlockedUser] {
    let rows = try connection.query(Self.findBlocks, PostgresParameters(user))
    return rows.indices.map { BlockedUser(id: rows.text($0, 0), name: rows.text($0, 1)) }
      .sorted { $0.name < $1.name }
  }

  package func ownRole(of user: String, in zone: String) throws -> Role? {
    let rows = try connection.query(Self.findOwnRole, PostgresParameters(zone, user))
    return rows.isEmpty ? nil : Role(rawValue: rows.text(0, 0))
  }
}
