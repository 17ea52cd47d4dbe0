import HoldfastCore
import HoldfastSQLite

/// All that change sets are applied to: the tables of records, the tombstones and the zones, on the one connection that
/// writes.
final class RecordStores {
  let schema: Schema
  let tables: [RecordTable]
  let tombstones: Tombstones
  let ledger: ZoneLedger
  /// The indexes of the built-in tables, and of their columns.
  let members: Int
  let conflicts: Int
  let memberUser: Int
  let memberName: Int
  let memberRole: Int
  private let random: @Sendable (Int) -> [UInt8]
  private let findOwner: Statement
  private let findAccount: Statement
  private let findName: Statement
  private let findDevice: Statement
  private let noteLoss: Statement
  private let findAck: Statement

  init(_ schema: Schema, on connection: Connection, random: @escaping @Sendable (Int) -> [UInt8]) throws {
    self.schema = schema
    self.random = random
    tables = try schema.tables.indices.map { try RecordTable($0, of: schema, on: connection) }
    tombstones = try Tombstones(on: connection)
    ledger = try ZoneLedger(on: connection)
    guard let members = schema.index(of: Table.members.name),
      let conflicts = schema.index(of: Table.conflicts.name),
      let user = Table.members.index(of: "user"), let name = Table.members.index(of: "name"),
      let role = Table.members.index(of: "role")
    else { preconditionFailure("Every schema has the built-in tables.") }
    (self.members, self.conflicts, memberUser, memberName, memberRole) = (
      members, conflicts, user, name, role
    )
    findOwner = try connection.statement("SELECT 1 FROM members WHERE zone = ? AND role = 'owner' LIMIT 1")
    findAccount = try connection.statement("SELECT id FROM holdfast_accounts WHERE name = ?")
    findName = try connection.statement("SELECT name FROM holdfast_accounts WHERE id = ?")
    findAck = try connection.statement(
      "SELECT 1 FROM holdfast_acks WHERE device = ? AND zone = ? AND seq >= ? AND lost = 0")
    noteLoss = try connection.statement(
      """
      UPDATE holdfast_acks SET lost = 1 WHERE zone = ? AND device IN (SELECT number FROM holdfast_devices WHERE user = ?)
      """)
    findDevice = try connection.statement("SELECT id, user FROM holdfast_devices WHERE number = ?")
  }

  /// Whether a zone has an owner.
  func hasOwner(_ zone: String) throws -> Bool {
    try findOwner.bind(zone, at: 1)
    return try findOwner.hasRow()
  }

  /// Whether a zone still stands: of a user, or of a root record that is live.
  func isLive(_ zone: String) throws -> Bool {
    if try name(ofUser: zone) != nil { return true }
    for store in tables where store.table.zone == .root {
      if try store.zone(of: zone) != nil { return true }
    }
    return false
  }

  /// The id of the account of a name, or nil.
  func user(named name: String) throws -> String? {
    try findAccount.bind(name, at: 1)
    return try findAccount.firstText()
  }

  /// The name of an account, or nil.
  func name(ofUser id: String) throws -> String? {
    try findName.bind(id, at: 1)
    return try findName.firstText()
  }

  /// The ids of a device and of its user; nil for the server itself.
  func device(_ number: Int64) throws -> (id: String, user: String)? {
    try findDevice.bind(number, at: 1)
    defer { findDevice.reset() }
    return try findDevice.step() ? (findDevice.text(0), findDevice.text(1)) : nil
  }

  /// Makes an id for a record of the server's own.
  func newID(at clock: Stamp) -> String {
    makeIdentifier(milliseconds: clock.milliseconds, random: random)
  }

  /// Whether a device has a zone up to some seq.
  func hasAcked(_ seq: Int64, of zone: String, device: Int64) throws -> Bool {
    try findAck.bind(device, at: 1)
    try findAck.bind(zone, at: 2)
    try findAck.bind(seq, at: 3)
    return try findAck.hasRow()
  }

  /// Remembers that the devices of a user lose a zone: should the user get it back before they hear of it, they begin it anew.
  func noteLoss(of zone: String, by user: String) throws {
    try noteLoss.bind(zone, at: 1)
    try noteLoss.bind(user, at: 2)
    try noteLoss.run()
  }

  /// Makes a user a member of a zone, as a record of the zone.
  func addMember(_ user: String, named name: String, role: Role, to zone: String, by author: Author) throws {
    var values = [Value](repeating: .null, count: Table.members.columns.count)
    values[memberUser] = .text(user)
    values[memberName] = .text(name)
    values[memberRole] = .text(role.rawValue)
    let stamps = RecordStamps(creation: ColumnStamp(rev: 1, stamp: author.clock, device: author.device)).text
    try tables[members].insert(
      Record(
        table: members, id: newID(at: author.clock), zone: zone, seq: ledger.next(zone), rev: 1,
        stamps: stamps,
        values: values))
    ledger.changedMember(user)
  }
}

/// A new UUIDv7 of the environment's randomness.
func makeIdentifier(milliseconds: Int64, random: (Int) -> [UInt8]) -> String {
  let words = random(16).withUnsafeBytes {
    (
      $0.loadUnaligned(fromByteOffset: 0, as: UInt64.self),
      $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    )
  }
  return Identifier.make(milliseconds: milliseconds, random: words)
}
