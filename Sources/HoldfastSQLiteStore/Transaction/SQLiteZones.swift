import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// The zones and roles in SQLite, with prepared statements. The single writer locks the whole database.
final class SQLiteZones: ZoneTable {
  private let find: Statement
  private let findRole: Statement
  private let findRoles: Statement
  private let putRole: Statement
  private let dropRole: Statement
  private let findOwnMember: Statement
  private let findMembers: Statement
  private let findGroups: Statement
  private let countMembers: Statement
  private let findOwners: Statement
  private let addZone: Statement
  private let write: Statement
  private let writeNotified: Statement
  private let findRecords: [Statement]
  private let writeErased: Statement
  private let findNumber: Statement
  private let writeLeft: Statement
  private let writeNumber: Statement
  private let findDeleting: Statement
  private let writeDeleting: Statement

  init(_ schema: SyncSchema, on connection: SQLiteConnection) throws {
    find = try connection.statement(
      "SELECT seq, public, records, bytes, left_for FROM holdfast_zones WHERE zone = ?")
    findRole = try connection.statement("SELECT role FROM holdfast_access WHERE zone = ? AND user = ?")
    findRoles = try connection.statement("SELECT user, role FROM holdfast_access WHERE zone = ?")
    putRole = try connection.statement(
      """
      INSERT INTO holdfast_access (zone, user, role) VALUES (?, ?, ?)
      ON CONFLICT (zone, user) DO UPDATE SET role = excluded.role
      """)
    dropRole = try connection.statement("DELETE FROM holdfast_access WHERE zone = ? AND user = ?")
    findOwnMember = try connection.statement(
      "SELECT id, role FROM \(SQLiteTables.membersByUser) WHERE zone = ? AND user = ? AND invited_by IS NULL")
    findMembers = try connection.statement(
      "SELECT id, user, \"group\", role, invited_by FROM members WHERE zone = ?")
    findGroups = try connection.statement(
      "SELECT id, user, \"group\", role, NULL FROM members WHERE zone = ? AND \"group\" > ''")
    countMembers = try connection.statement("SELECT count(*) FROM members WHERE zone = ?")
    findOwners = try connection.statement(
      "SELECT id FROM members WHERE zone = ? AND role = 'owner' AND user IS NOT NULL AND invited_by IS NULL")
    addZone = try connection.statement("INSERT INTO holdfast_zones (zone, seq) VALUES (?, 0)")
    writeNotified = try connection.statement(
      """
      INSERT INTO holdfast_notified (zone, seq) VALUES (?, ?)
      ON CONFLICT (zone) DO UPDATE SET seq = max(seq, excluded.seq)
      """)
    write = try connection.statement(
      "UPDATE holdfast_zones SET seq = ?, records = max(0, ?), bytes = max(0, ?), clock = ? WHERE zone = ?")
    writeErased = try connection.statement("UPDATE holdfast_zones SET erased = ? WHERE zone = ?")
    findNumber = try connection.statement("SELECT number FROM holdfast_moves WHERE zone = ?")
    writeLeft = try connection.statement(
      "UPDATE holdfast_zones SET left_for = ?, purged = max(purged, ?) WHERE zone = ?")
    writeNumber = try connection.statement(
      "INSERT OR REPLACE INTO holdfast_moves (zone, number, state) VALUES (?, ?, ?)")
    findDeleting = try connection.statement("SELECT deleting_until FROM holdfast_zones WHERE zone = ?")
    writeDeleting = try connection.statement(
      "UPDATE holdfast_zones SET deleting_until = max(deleting_until, ?) WHERE zone = ?")
    findRecords = try schema.tables.filter { $0.zone != .explicit }.map {
      try connection.statement("SELECT 1 FROM \"\($0.name)\" WHERE zone = ? LIMIT 1")
    }
  }

  func lock(_ name: String) throws -> LockedZone? {
    try find.bind(name, at: 1)
    defer { find.reset() }
    guard try find.step() else { return nil }
    return LockedZone(
      seq: find.integer(0), isPublic: find.integer(1) == 1,
      counts: ZoneCounts(records: find.integer(2), bytes: find.integer(3)),
      leftFor: find.columnValue(4).text)
  }

  func add(_ name: String) throws {
    try addZone.bind(name, at: 1)
    try addZone.run()
  }

  func hasRecords(_ name: String) throws -> Bool {
    try findRecords.contains { statement in
      try statement.bind(name, at: 1)
      return try statement.hasRow()
    }
  }

  func setErased(_ seq: Int64, of name: String) throws {
    try writeErased.bind(seq, at: 1)
    try writeErased.bind(name, at: 2)
    try writeErased.run()
  }

  func moveNumber(of name: String) throws -> Int64 {
    try findNumber.bind(name, at: 1)
    return try findNumber.onlyInteger() ?? 0
  }

  func setMoved(_ name: String, to database: String?, number: Int64, purged: Int64, state: ZonePlace.State)
    throws
  {
    if let database { try writeLeft.bind(database, at: 1) } else { try writeLeft.bindNull(at: 1) }
    try writeLeft.bind(purged, at: 2)
    try writeLeft.bind(name, at: 3)
    try writeLeft.run()
    try writeNumber.bind(name, at: 1)
    try writeNumber.bind(number, at: 2)
    try writeNumber.bind(state.rawValue, at: 3)
    try writeNumber.run()
  }

  func setDeleting(in zones: [String], until time: Int64) throws {
    for zone in zones {
      try writeDeleting.bind(time, at: 1)
      try writeDeleting.bind(zone, at: 2)
      try writeDeleting.run()
    }
  }

  func deletingUntil(_ name: String) throws -> Int64 {
    try findDeleting.bind(name, at: 1)
    return try findDeleting.onlyInteger() ?? 0
  }

  func move(_ zone: MovedZone, clock: Stamp) throws {
    try write.bind(zone.seq, at: 1)
    try write.bind(zone.counts.records, at: 2)
    try write.bind(zone.counts.bytes, at: 3)
    try write.bind(clock.rawValue, at: 4)
    try write.bind(zone.zone, at: 5)
    try write.run()
  }

  func setNotified(_ zones: [NotifiedZone]) throws {
    for zone in zones {
      try writeNotified.bind(zone.zone, at: 1)
      try writeNotified.bind(zone.seq, at: 2)
      try writeNotified.run()
    }
  }

  func role(of user: String, in zone: String) throws -> Role? {
    try findRole.bind(zone, at: 1)
    try findRole.bind(user, at: 2)
    return try findRole.firstText().flatMap(Role.init)
  }

  func roles(in zone: String) throws -> TextMap<Role> {
    try findRoles.bind(zone, at: 1)
    defer { findRoles.reset() }
    var roles: TextMap<Role> = [:]
    while try findRoles.step() { roles[findRoles.text(0)] = Role(rawValue: findRoles.text(1)) }
    return roles
  }

  func set(_ role: Role?, of member: ZoneUser) throws {
    let statement = role == nil ? dropRole : putRole
    try statement.bind(member.zone, at: 1)
    try statement.bind(member.user, at: 2)
    if let role { try statement.bind(role.rawValue, at: 3) }
    try statement.run()
  }

  func ownMember(_ user: String, of zone: String) throws -> (id: String, role: Role?)? {
    try findOwnMember.bind(zone, at: 1)
    try findOwnMember.bind(user, at: 2)
    defer { findOwnMember.reset() }
    return try findOwnMember.step() ? (findOwnMember.text(0), Role(rawValue: findOwnMember.text(1))) : nil
  }

  func members(of zone: String) throws -> [Member] { try members(findMembers, of: zone) }

  func groups(of zone: String) throws -> [Member] { try members(findGroups, of: zone) }

  private func members(_ statement: Statement, of zone: String) throws -> [Member] {
    try statement.bind(zone, at: 1)
    defer { statement.reset() }
    var members: [Member] = []
    while try statement.step() {
      let member = Member(
        id: statement.text(0), user: statement.columnValue(1).text, group: statement.columnValue(2).text,
        role: statement.text(3), isPending: statement.columnValue(4).text != nil)
      if let member { members.append(member) }
    }
    return members
  }

  func memberCount(of zone: String) throws -> Int {
    try countMembers.bind(zone, at: 1)
    defer { countMembers.reset() }
    return try countMembers.step() ? Int(countMembers.integer(0)) : 0
  }

  /// An SQLite database has only one server.
  func hasUnknownRoot(_ name: String) -> Bool { false }

  func owners(of zone: String) throws -> [String] {
    try findOwners.bind(zone, at: 1)
    defer { findOwners.reset() }
    var owners: [String] = []
    while try findOwners.step() { owners.append(findOwners.text(0)) }
    return owners
  }
}
