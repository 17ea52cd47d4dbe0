import HoldfastCore
import HoldfastPostgres

/// The zones that a transaction has locked, and the roles in them.
final class PostgresZones: ZoneTable {
  struct Zone {
    let seq: Int64
    let isPublic: Bool
    let clock: Int64
  }

  struct Membership: Hashable {
    let zone: String
    let user: String
  }

  private unowned let store: PostgresStore
  /// The zones that are locked, nil for those that are not there.
  var known: [String: Zone?] = [:]
  var roles: [Membership: Role?] = [:]

  private static let lock: PostgresStatement =
    "SELECT seq, public, clock FROM holdfast.zones WHERE zone = $1 FOR NO KEY UPDATE"
  private static let findRole: PostgresStatement =
    "SELECT id, role FROM holdfast.members WHERE zone = $1 AND \"user\" = $2"
  private static let findOwners: PostgresStatement =
    "SELECT id FROM holdfast.members WHERE zone = $1 AND role = 'owner'"

  init(_ store: PostgresStore) { self.store = store }

  /// A new transaction begins.
  func begin() {
    known.removeAll(keepingCapacity: true)
    roles.removeAll(keepingCapacity: true)
  }

  /// Whether the transaction has the zone's lock.
  func isLocked(_ name: String) -> Bool { store.zonesMade.contains(name) || (known[name] ?? nil) != nil }

  func zone(_ name: String) throws -> (seq: Int64, isPublic: Bool)? {
    let zone: Zone?
    if let found = known[name] {
      zone = found
    } else {
      let rows = try store.connection.query(Self.lock, PostgresParameters(name))
      zone =
        rows.isEmpty
        ? nil : Zone(seq: rows.int64(0, 0), isPublic: rows.bool(0, 1), clock: rows.int64(0, 2))
      known[name] = .some(zone)
    }
    return zone.map { ($0.seq, $0.isPublic) }
  }

  func add(_ name: String) throws { store.zonesMade.append(name) }

  func setSeq(_ seq: Int64, of name: String, clock: Stamp) throws {
    store.zonesMoved.append((name, seq, clock.rawValue))
  }

  func setTold(_ zones: [ToldZone]) throws { try store.writing.setTold(zones) }

  func role(of user: String, in zone: String) throws -> Role? {
    let (table, userColumn, roleColumn) = (store.members, store.memberUser, store.memberRole)
    for (key, entry) in store.working.changed where key.table == table {
      if entry.home == zone, entry.values?[userColumn] == .text(user) {
        return entry.values?[roleColumn].text.flatMap(Role.init)
      }
      let before = store.working.stored[key]
      if before?.home == zone, before?.values?[userColumn] == .text(user) { return nil }
    }
    let membership = Membership(zone: zone, user: user)
    if let known = roles[membership] { return known }
    if store.zonesMade.contains(zone) { return nil }
    let rows = try store.connection.query(Self.findRole, PostgresParameters(zone, user))
    let role = rows.isEmpty ? nil : Role(rawValue: rows.text(0, 1))
    roles[membership] = .some(role)
    return role
  }

  func hasOwner(_ zone: String) throws -> Bool {
    let owner = Value.text(Role.owner.rawValue)
    for (key, entry) in store.working.changed where key.table == store.members {
      if entry.home == zone, entry.values?[store.memberRole] == owner { return true }
    }
    let rows = try store.connection.query(Self.findOwners, PostgresParameters(zone))
    return rows.indices.contains { row in
      store.working.changed[Expectation.Key(table: store.members, id: rows.text(row, 0))] == nil
    }
  }
}
