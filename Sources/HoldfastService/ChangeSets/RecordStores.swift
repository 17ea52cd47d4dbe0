package import HoldfastCore

/// The targets of change sets: the records, tombstones and zones of a store, and the schema.
package final class RecordStores {
  package let transaction: Transaction
  package var schema: SyncSchema { transaction.schema }
  package var store: any StoreWriter { transaction.store }
  package var tables: [RecordTable] { transaction.tables }
  var tombstones: TombstoneTable { transaction.tombstones }
  package var ledger: ZoneLedger { transaction.zones }
  var devices: DeviceLedger { transaction.devices }
  var requests: RequestLedger { transaction.requests }
  var consents: ConsentLedger { transaction.consents }
  var memberList: MemberList { transaction.memberList }
  /// The history of the transaction; nil for an operator's command.
  package var history: History?
  /// The time of the transaction, in milliseconds since 1970.
  package var now: Int64 = 0
  package let rules: RulesInForce
  /// The indexes of the built-in tables, and of the columns of `members`.
  package var members: Int { memberColumns.table }
  package let conflicts: Int
  package let memberColumns: MemberColumns
  /// The limits per user.
  package let limits: UserLimits
  /// The work of the current change set so far.
  var work = ChangeSetWork()
  /// The maximum work of a change set before its last operation.
  let workLimit: Int
  /// The amount of work after which the rest of a deletion is left to another transaction.
  let pieceLimit: Int
  /// The limits per zone.
  package let zoneLimits: ZoneLimits
  /// Names that the current command shares with, and of which nobody knows whether a user of another database has them.
  var unreachable: TextSet = []
  /// What the users may still store.
  var room = UserRoom()
  private let random: @Sendable (Int) -> [UInt8]

  package init(
    _ schema: SyncSchema, on store: any StoreWriter, rules: RulesInForce = RulesInForce(),
    limits: UserLimits = UserLimits(), zoneLimits: ZoneLimits = ZoneLimits(),
    workLimit: Int = ChangeSetWork.limit, pieceLimit: Int = .max,
    random: @escaping @Sendable (Int) -> [UInt8]
  ) {
    self.rules = rules
    self.limits = limits
    self.workLimit = workLimit
    self.pieceLimit = pieceLimit
    self.zoneLimits = zoneLimits
    self.random = random
    transaction = Transaction(store, schema)
    memberColumns = transaction.members
    conflicts = schema.index(of: TableSchema.conflicts.name) ?? 0
  }

  /// Whether a zone has not ended: it belongs to a user, or its root record is live.
  package func isLive(_ zone: String) throws -> Bool {
    if try store.accounts.isKnown(zone) { return true }
    for store in tables where store.table.zone == .root {
      if try store.zone(of: zone) != nil { return true }
    }
    return try store.zones.hasUnknownRoot(zone)
  }

  /// Creates an id for a record of the server.
  package func newID(at clock: Stamp) -> String {
    makeIdentifier(milliseconds: clock.milliseconds, random: random)
  }

  /// Makes a user a member of a zone that no other zone names as its group.
  ///
  /// - Returns: the id of the `members` record.
  @discardableResult
  package func addMember(_ user: String, named name: String, role: Role, to zone: String, by author: Author)
    throws
    -> String
  {
    var values = [Value](repeating: .null, count: TableSchema.members.columns.count)
    values[memberColumns.user] = .text(user)
    values[memberColumns.name] = .text(name)
    values[memberColumns.role] = .text(role.rawValue)
    let stamps = RecordStamps(creation: ColumnStamp(rev: 1, stamp: author.clock, device: author.device)).text
    let id = newID(at: author.clock)
    try insert(
      StoredRecord(
        table: members, id: id, zone: zone, seq: ledger.next(zone), rev: 1,
        stamps: stamps,
        values: values))
    consents.setLeft(false, user, zone)
    _ = try settleAccess(of: user, to: zone)
    ledger.changedMember(user)
    return id
  }

  /// The record of a user's own membership of a zone, including a pending one; or nil.
  package func membership(of user: String, in zone: String) throws -> StoredRecord? {
    var values = [Value](repeating: .null, count: TableSchema.members.columns.count)
    values[memberColumns.user] = .text(user)
    let wanted = StoredRecord(table: members, id: "", zone: zone, seq: 0, rev: 0, stamps: "", values: values)
    return try tables[members].holder(of: ["user"], like: wanted).flatMap { try tables[members].record($0) }
  }
}

/// A new UUIDv7 from the environment's randomness.
package func makeIdentifier(milliseconds: Int64, random: @escaping (Int) -> [UInt8]) -> String {
  var random = RandomWords(random)
  return Identifier.make(milliseconds: milliseconds, random: random.pair())
}
