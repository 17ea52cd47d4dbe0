import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// The zones and roles in PostgreSQL.
final class PostgresZones: ZoneTable {
  private unowned let store: PostgresStore

  private static let lock: PostgresStatement =
    "SELECT zone, seq, public, clock, records, bytes, left_for FROM holdfast.zones WHERE zone = $1 FOR NO KEY UPDATE"
  private static let findRole: PostgresStatement =
    "SELECT role FROM holdfast.access WHERE zone = $1 AND \"user\" = $2"
  private static let findRoles: PostgresStatement =
    "SELECT \"user\", role FROM holdfast.access WHERE zone = $1"
  private static let findOwnRole: PostgresStatement =
    "SELECT id, role FROM holdfast.members WHERE zone = $1 AND \"user\" = $2 AND invited_by IS NULL"
  private static let findMembers: PostgresStatement =
    "SELECT id, \"user\", \"group\", role, invited_by FROM holdfast.members WHERE zone = $1"
  private static let findGroups: PostgresStatement =
    "SELECT id, \"user\", \"group\", role, NULL FROM holdfast.members WHERE zone = $1 AND \"group\" IS NOT NULL"
  private static let countMembers: PostgresStatement = "SELECT count(*) FROM holdfast.members WHERE zone = $1"
  private static let findOwners: PostgresStatement =
    "SELECT id FROM holdfast.members WHERE zone = $1 AND role = 'owner' AND \"user\" IS NOT NULL AND invited_by IS NULL"

  private static let findRecords: PostgresStatement = """
    SELECT r.record_table, r.id FROM holdfast.records r
    WHERE r.zone = $1 AND r.state = 0 AND r.record_table <> 'members' LIMIT 1
    """
  private static let findRoots: PostgresStatement =
    "SELECT record_table FROM holdfast.records WHERE zone = $1 AND id = $1 AND state = 0"
  private static let writeErased: PostgresStatement = "UPDATE holdfast.zones SET erased = $2 WHERE zone = $1"
  private static let findNumber: PostgresStatement = "SELECT number FROM holdfast.moves WHERE zone = $1"
  private static let writeLeft: PostgresStatement =
    "UPDATE holdfast.zones SET left_for = $2, purged = greatest(purged, $3) WHERE zone = $1"
  private static let findDeleting: PostgresStatement =
    "SELECT deleting_until FROM holdfast.zones WHERE zone = $1"
  private static let writeDeleting: PostgresStatement = """
    UPDATE holdfast.zones SET deleting_until = greatest(deleting_until, $2) WHERE zone = ANY ($1)
    """
  private static let putNumber: PostgresStatement = """
    INSERT INTO holdfast.moves (zone, number, state) VALUES ($1, $2, $3)
    ON CONFLICT (zone) DO UPDATE SET number = excluded.number, state = excluded.state
    """
  private static let putNotified: PostgresStatement = """
    INSERT INTO holdfast.notified AS t (zone, seq) SELECT * FROM unnest($1::text[], $2::bigint[])
    ON CONFLICT (zone) DO UPDATE SET seq = greatest(t.seq, excluded.seq)
    """

  init(_ store: PostgresStore) { self.store = store }

  func lock(_ name: String) throws -> LockedZone? {
    let rows = try store.reading.query(Self.lock, PostgresParameters(name))
    return rows.isEmpty ? nil : LockedZone(rows, 0)
  }

  func hasRecords(_ name: String) throws -> Bool {
    try !store.reading.query(Self.findRecords, PostgresParameters(name)).isEmpty
  }

  func setErased(_ seq: Int64, of name: String) throws {
    try store.connection.run(Self.writeErased, PostgresParameters(name, seq))
  }

  func moveNumber(of name: String) throws -> Int64 {
    let rows = try store.reading.query(Self.findNumber, PostgresParameters(name))
    return rows.isEmpty ? 0 : rows.int64(0, 0)
  }

  func setMoved(_ name: String, to database: String?, number: Int64, purged: Int64, state: ZonePlace.State)
    throws
  {
    try store.connection.run(Self.writeLeft, PostgresParameters(name, database, purged))
    try store.connection.run(Self.putNumber, PostgresParameters(name, number, state.rawValue))
  }

  func setDeleting(in zones: [String], until time: Int64) throws {
    var parameters = PostgresParameters(array: zones)
    parameters.append(time)
    try store.connection.run(Self.writeDeleting, parameters)
  }

  func deletingUntil(_ name: String) throws -> Int64 {
    let rows = try store.reading.query(Self.findDeleting, PostgresParameters(name))
    return rows.isEmpty ? 0 : rows.int64(0, 0)
  }

  func setNotified(_ zones: [NotifiedZone]) throws {
    var parameters = PostgresParameters()
    parameters.append(array: zones.lazy.map(\.zone))
    parameters.append(array: zones.lazy.map(\.seq))
    try store.reading.run(Self.putNotified, parameters)
  }

  func role(of user: String, in zone: String) throws -> Role? {
    let rows = try store.reading.query(Self.findRole, PostgresParameters(zone, user))
    return rows.isEmpty ? nil : Role(rawValue: rows.text(0, 0))
  }

  func roles(in zone: String) throws -> TextMap<Role> {
    let rows = try store.reading.query(Self.findRoles, PostgresParameters(zone))
    var roles: TextMap<Role> = [:]
    for row in rows.indices { roles[rows.text(row, 0)] = Role(rawValue: rows.text(row, 1)) }
    return roles
  }

  func ownMember(_ user: String, of zone: String) throws -> (id: String, role: Role?)? {
    let rows = try store.reading.query(Self.findOwnRole, PostgresParameters(zone, user))
    return rows.isEmpty ? nil : (rows.text(0, 0), Role(rawValue: rows.text(0, 1)))
  }

  func members(of zone: String) throws -> [Member] { try members(Self.findMembers, of: zone) }

  func groups(of zone: String) throws -> [Member] { try members(Self.findGroups, of: zone) }

  private func members(_ statement: PostgresStatement, of zone: String) throws -> [Member] {
    let rows = try store.reading.query(statement, PostgresParameters(zone))
    return rows.indices.compactMap { row in
      Member(
        id: rows.text(row, 0), user: rows.optionalText(row, 1), group: rows.optionalText(row, 2),
        role: rows.text(row, 3), isPending: rows.optionalText(row, 4) != nil)
    }
  }

  func memberCount(of zone: String) throws -> Int {
    Int(try store.reading.query(Self.countMembers, PostgresParameters(zone)).int64(0, 0))
  }

  func hasUnknownRoot(_ name: String) throws -> Bool {
    let tables = try store.reading.query(Self.findRoots, PostgresParameters(name)).texts
    return tables.contains { store.schema.index(of: $0) == nil }
  }

  func owners(of zone: String) throws -> [String] {
    try store.reading.query(Self.findOwners, PostgresParameters(zone)).texts
  }
}
