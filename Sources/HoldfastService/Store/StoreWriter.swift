package import HoldfastCore

/// The shared database as the service writes it, over one connection: one transaction at a time, on one thread at a time. What is
/// read is what the transaction has written so far.
///
/// One suite of tests holds for every store.
package protocol StoreWriter: AnyObject {
  /// The tables of the schema, in its order.
  var tables: [any RecordTable] { get }
  /// What stays of records that are gone.
  var tombstones: any TombstoneTable { get }
  /// The zones and the roles in them.
  var zones: any ZoneTable { get }
  /// The devices, their acks and their refusals.
  var devices: any DeviceTable { get }
  /// The accounts.
  var accounts: any AccountTable { get }
  /// The requests that devices gave an id.
  var requests: any RequestTable { get }
  /// What devices recovered after a restore.
  var recovery: any RecoveryTable { get }
  /// Results that are kept for their later pages.
  var results: any ResultTable { get }
  /// What nobody needs any more.
  var purging: any PurgeTable { get }
  var invitations: any InvitationTable { get }
  /// What users have agreed to, and what not.
  var consents: any ConsentTable { get }

  /// The latest stamp that is in the database.
  func latestClock() throws -> Stamp

  /// The latest stamp that other servers left in what the transaction has locked.
  var clockSeen: Stamp { get }

  /// Begins a transaction.
  ///
  /// - Parameters:
  ///   - footprints: what each command will probably touch.
  ///   - isCareful: whether each write is made at once, so that a rule of the database that it breaks is known when it is made.
  /// - Returns: which of the commands have to wait for somebody else's transaction; nothing is to be done for them in this one.
  func begin(_ footprints: [Footprint], isCareful: Bool) throws -> Set<Int>

  /// The history that the transaction works in: no other begins before it has ended.
  var history: History { get }

  /// Makes and checks proofs with the key of the database.
  var prover: Prover { get }

  /// Begins a new epoch, in a transaction of its own, at any moment: what other transactions write comes whole before it or behind it, and each
  /// sees it from then on. No transaction is open. Who opens a database and has only a connection calls `SQLiteEpoch.begin` or `PostgresEpoch.begin`.
  ///
  /// - Parameter current: the epoch that it is to follow, or nil for whichever. When another has begun meanwhile, nothing is done.
  /// - Returns: whether it has begun.
  func beginEpoch(_ epoch: NewEpoch, after current: String?) throws -> Bool

  /// Makes all written since `begin` durable.
  ///
  /// - Parameter moves: what it changed, for other servers on the same database.
  func commit(announcing changes: ZoneChanges) throws

  /// Takes all written since `begin` back. Does not fail: a connection that can't is given up.
  func rollBack()

  /// A part begins that can be rolled back alone.
  func beginPart() throws

  /// One operation of the part has written all that it writes.
  ///
  /// - Parameter isBlocked: whether the database must not see it yet, as its rules hold only with operations to come.
  func settle(unless isBlocked: () throws -> Bool) throws

  /// The part stays.
  func keepPart() throws

  /// Whether what fails while a part is at work is that part's fault, and is rolled back with it.
  var blamesParts: Bool { get }

  /// Whether a trigger of the team has rolled back the whole transaction.
  var hasEnded: Bool { get }

  /// Takes the part back.
  func undoPart() throws

  /// Writes something of no meaning, to see whether writing works.
  func probe(_ text: String) throws

  /// What a failure of the store means.
  func meaning(of error: any Error) -> StoreFailure

  /// Ends the use of the connection.
  func close() throws
}

/// What a failure of a store means for the commands that it hit. Nothing of them was written.
package enum StoreFailure {
  /// No room left.
  case full
  /// The database can't be had now.
  case unavailable
  /// The database lets the server not do this, until an operator has put it right.
  case denied
  /// Somebody else was in the way: the same may succeed at once.
  case transient
  /// What was written caused it, and causes it again: a unique value, a reference, or a check or trigger that the team added, with the code of
  /// the database.
  case rule(String)
  /// Anything else: a fault.
  case other
}

/// The records of one table.
package protocol RecordTable: AnyObject {
  var table: TableSchema { get }

  /// The live record of an id, or nil.
  func record(_ id: String) throws -> StoredRecord?

  /// The zone of a live record, or nil.
  func zone(of id: String) throws -> String?

  /// Adds a record. Whether its unique values are free is the caller's to see, when all is written.
  func insert(_ record: StoredRecord) throws

  /// Replaces a record; the same holds.
  func update(_ record: StoredRecord) throws

  /// Another record of the same zone that has the same values in columns that are unique together, or nil.
  func holder(of columns: [String], like record: StoredRecord) throws -> String?

  /// Removes a record.
  func remove(_ id: String) throws

  /// The position in a list that is the nearest on one side of a mark, as the transaction has the list, whose zone it has locked; nil when
  /// there is none.
  ///
  /// - Parameters:
  ///   - mark: a position, or `RecordList.start` or `end`. Records that have this very one are passed over.
  ///   - id: a record that is passed over as well.
  func position(
    _ side: RecordList.Side, _ mark: String, in list: RecordList, besides id: String
  ) throws -> String?

  /// The ids of the records whose column has one of some values, each with the value; in the order of the values.
  ///
  /// - Parameter limit: how many are enough; there may be more.
  func references(by column: Int, to values: [String], limit: Int) throws -> [(id: String, value: String)]

  /// Says which records are looked at soon: all are read at once, where reading waits for a network.
  func prefetch(_ ids: [String]) throws
}

/// What stays of records that are gone: a record has at most one tombstone in a zone.
package protocol TombstoneTable: AnyObject {
  /// The tombstone of a deletion; departures are none.
  func deletion(_ id: String, of table: String) throws -> Tombstone?

  /// Writes a tombstone; a later one replaces the earlier.
  func insert(_ tombstone: Tombstone, seq: Int64, of id: String, in table: String, isDeparture: Bool) throws

  /// Turns the tombstone of a deletion into one of a departure: the record lives on in another zone.
  func becomeDeparture(_ id: String, of table: String, in zone: String) throws

  /// Removes a record's tombstone from a zone in which it lives again.
  func remove(_ id: String, of table: String, in zone: String) throws
}

/// The zones, and who has which role in them.
package protocol ZoneTable: AnyObject {
  /// A zone; nil when there is no such one. From here to the end of the transaction nobody else changes a record of it.
  func zone(_ name: String) throws -> LockedZone?

  /// Makes a zone without a record.
  func add(_ name: String) throws

  /// Whether a zone has records besides its members.
  func hasRecords(_ name: String) throws -> Bool

  /// Whether a zone is that of a root record in a table which only servers with a newer schema know.
  func hasUnknownRoot(_ name: String) throws -> Bool

  /// Remembers that somebody was erased from a zone up to its seq of now: snapshots from before have the name.
  func setErased(_ seq: Int64, of name: String) throws

  /// Writes the last seq of a zone, what it holds, and the time of its last change.
  func set(_ seq: Int64, _ counts: ZoneCounts, of name: String, clock: Stamp) throws

  /// Remembers up to where the team's program was told of zones; never less than before.
  func setNotified(_ zones: [NotifiedZone]) throws

  /// What a user may do in a zone, as its own member or by its groups; nil for who may nothing.
  func role(of user: String, in zone: String) throws -> Role?

  /// The same of all users who may something.
  func roles(in zone: String) throws -> TextMap<Role>

  /// Writes what a user may do in a zone: what its members say.
  func setRole(_ role: Role?, of user: String, in zone: String) throws

  /// The role of a zone's own member; nil for others, also for those of its groups, and for who has not accepted yet.
  func ownRole(of user: String, in zone: String) throws -> Role?

  /// The own members of a zone who have accepted, and its groups.
  func members(of zone: String) throws -> [Member]

  /// The groups of a zone.
  func groups(of zone: String) throws -> [Member]

  /// How many own members and groups a zone has, those who have not accepted yet included.
  func memberCount(of zone: String) throws -> Int

  /// Whether a zone has an owner of its own; those of a group do not count, as the group may lose them.
  func hasOwner(_ zone: String) throws -> Bool
}

/// Who belongs to a zone: a user, or all own members of another zone.
package struct Member {
  /// Of the record.
  package let id: String
  package let user: String?
  package let group: String?
  package let role: Role

  package init?(id: String, user: String?, group: String?, role: String?) {
    guard let role = role.flatMap(Role.init) else { return nil }
    (self.id, self.user, self.group, self.role) = (id, user, group, role)
  }
}

/// Up to where the team's program was told of a zone.
package struct NotifiedZone: Sendable {
  package let zone: String
  package let seq: Int64

  package init(zone: String, seq: Int64) {
    (self.zone, self.seq) = (zone, seq)
  }
}

extension RecordTable {
  /// The ids of all records whose column has one of some values, each with the value; in the order of the values.
  package func references(by column: Int, to values: [String]) throws -> [(id: String, value: String)] {
    try references(by: column, to: values, limit: .max)
  }
}
