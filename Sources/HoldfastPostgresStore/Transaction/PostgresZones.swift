import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// The zones that a transaction has locked, and the roles in them.
final class PostgresZones: ZoneTable {
  struct Zone {
    let seq: Int64
    let isPublic: Bool
    let counts: ZoneCounts
    let clock: Int64

    /// A zone of a row: its name, then these.
    init(_ rows: PostgresRows, _ row: Int) {
      (seq, isPublic, clock) = (rows.int64(row, 1), rows.bool(row, 2), rows.int64(row, 3))
      counts = ZoneCounts(records: rows.int64(row, 4), bytes: rows.int64(row, 5))
    }
  }

  struct Membership: Hashable {
    let zone: String
    let user: String
  }

  private unowned let store: PostgresStore
  /// The zones that are locked, nil for those that are not there.
  var known: TextMap<Zone?> = [:]
  /// The roles in the database.
  var roles: [Membership: Role?] = [:]
  /// Those that the transaction changes; written before the commit.
  var changed: [Membership: Role?] = [:]

  private static let lock: PostgresStatement =
    "SELECT zone, seq, public, clock, records, bytes FROM holdfast.zones WHERE zone = $1 FOR NO KEY UPDATE"
  private static let findRole: PostgresStatement =
    "SELECT role FROM holdfast.access WHERE zone = $1 AND \"user\" = $2"
  private static let findRoles: PostgresStatement =
    "SELECT \"user\", role FROM holdfast.access WHERE zone = $1"
  private static let findOwnRole: PostgresStatement =
    "SELECT id, role FROM holdfast.members WHERE zone = $1 AND \"user\" = $2 AND invited_by IS NULL"
  private static let findMembers: PostgresStatement =
    "SELECT id, \"user\", \"group\", role FROM holdfast.members WHERE zone = $1 AND invited_by IS NULL"
  private static let findGroups: PostgresStatement =
    "SELECT id, \"user\", \"group\", role FROM holdfast.members WHERE zone = $1 AND \"group\" IS NOT NULL"
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

  init(_ store: PostgresStore) { self.store = store }

  /// A new transaction begins.
  func begin() {
    known.removeAll(keepingCapacity: true)
    roles.removeAll(keepingCapacity: true)
    changed.removeAll()
  }

  /// Whether the transaction has the zone's lock.
  func isLocked(_ name: String) -> Bool { store.zonesMade.contains(name) || (known[name] ?? nil) != nil }

  func zone(_ name: String) throws -> LockedZone? {
    if known[name] == nil { try lock(name) }
    return (known[name] ?? nil).map { LockedZone(seq: $0.seq, isPublic: $0.isPublic, counts: $0.counts) }
  }

  /// Locks a zone, which may have been made since it was looked for last.
  func lock(_ name: String) throws {
    let rows = try store.connection.query(Self.lock, PostgresParameters(name))
    known[name] = .some(rows.isEmpty ? nil : Zone(rows, 0))
  }

  func add(_ name: String) throws { store.zonesMade.append(name) }

  func hasRecords(_ name: String) throws -> Bool {
    let isMade = store.working.changed.contains { $0.key.table != store.members && $0.value.home == name }
    return try isMade || !store.connection.query(Self.findRecords, PostgresParameters(name)).isEmpty
  }

  func setErased(_ seq: Int64, of name: String) throws {
    try store.connection.run(Self.writeErased, PostgresParameters(name, seq))
  }

  func set(_ seq: Int64, _ counts: ZoneCounts, of name: String, clock: Stamp) throws {
    store.zonesMoved.append((name, seq, counts, clock.rawValue))
  }

  func setNotified(_ zones: [NotifiedZone]) throws { try store.writing.setNotified(zones) }

  func role(of user: String, in zone: String) throws -> Role? {
    let membership = Membership(zone: zone, user: user)
    if let known = changed[membership] ?? roles[membership] { return known }
    if store.zonesMade.contains(zone) { return nil }
    let rows = try store.connection.query(Self.findRole, PostgresParameters(zone, user))
    let role = rows.isEmpty ? nil : Role(rawValue: rows.text(0, 0))
    roles[membership] = .some(role)
    return role
  }

  func roles(in zone: String) throws -> TextMap<Role> {
    let rows = try store.connection.query(Self.findRoles, PostgresParameters(zone))
    var roles: TextMap<Role> = [:]
    for row in rows.indices { roles[rows.text(row, 0)] = Role(rawValue: rows.text(row, 1)) }
    for (membership, role) in changed where membership.zone == zone { roles[membership.user] = role }
    return roles
  }

  func setRole(_ role: Role?, of user: String, in zone: String) throws {
    changed[Membership(zone: zone, user: user)] = .some(role)
  }

  func ownRole(of user: String, in zone: String) throws -> Role? {
    let (table, userColumn, roleColumn) = (store.members, store.memberUser, store.memberRole)
    for (key, entry) in store.working.changed where key.table == table {
      if entry.home == zone, entry.values?[userColumn] == .text(user) {
        if entry.values?[store.memberInviter] != .null { return nil }
        return entry.values?[roleColumn].text.flatMap(Role.init)
      }
    }
    if store.zonesMade.contains(zone) { return nil }
    let rows = try store.connection.query(Self.findOwnRole, PostgresParameters(zone, user))
    if rows.isEmpty || isChanged(rows.text(0, 0)) { return nil }
    return Role(rawValue: rows.text(0, 1))
  }

  func members(of zone: String) throws -> [Member] { try members(Self.findMembers, of: zone) }

  func groups(of zone: String) throws -> [Member] {
    try members(Self.findGroups, of: zone).filter { $0.group != nil }
  }

  private func members(_ statement: PostgresStatement, of zone: String) throws -> [Member] {
    var members = store.working.changed.compactMap { key, entry -> Member? in
      guard key.table == store.members, entry.home == zone, let values = entry.values,
        values[store.memberInviter] == .null
      else { return nil }
      return Member(
        id: key.id, user: values[store.memberUser].text, group: values[store.memberGroup].text,
        role: values[store.memberRole].text)
    }
    if store.zonesMade.contains(zone) { return members }
    let rows = try store.connection.query(statement, PostgresParameters(zone))
    for row in rows.indices where !isChanged(rows.text(row, 0)) {
      let member = Member(
        id: rows.text(row, 0), user: rows.optionalText(row, 1), group: rows.optionalText(row, 2),
        role: rows.text(row, 3))
      if let member { members.append(member) }
    }
    return members
  }

  func memberCount(of zone: String) throws -> Int {
    var count = try store.connection.query(Self.countMembers, PostgresParameters(zone)).int64(0, 0)
    for (key, entry) in store.working.changed where key.table == store.members {
      if entry.home == zone { count += 1 }
      if store.working.stored[key]?.home == zone { count -= 1 }
    }
    return Int(count)
  }

  private func isChanged(_ id: String) -> Bool {
    store.working.changed[Footprint.Key(table: store.members, id: id)] != nil
  }

  func hasUnknownRoot(_ name: String) throws -> Bool {
    let tables = try store.connection.query(Self.findRoots, PostgresParameters(name)).texts
    return tables.contains { store.schema.index(of: $0) == nil }
  }

  func hasOwner(_ zone: String) throws -> Bool {
    let owner = Value.text(Role.owner.rawValue)
    for (key, entry) in store.working.changed where key.table == store.members {
      if entry.home == zone, entry.values?[store.memberRole] == owner,
        entry.values?[store.memberUser].text != nil, entry.values?[store.memberInviter] == .null
      {
        return true
      }
    }
    let rows = try store.connection.query(Self.findOwners, PostgresParameters(zone))
    return rows.indices.contains { !isChanged(rows.text($0, 0)) }
  }
}
