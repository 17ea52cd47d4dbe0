package import HoldfastCore

/// The shared database as a transaction writes it, over one connection: one transaction at a time, on one thread at a time. What is read is
/// what is in the database; what the transaction makes of it is kept by `Transaction`, and written in one go.
///
/// One suite of tests holds for every store.
package protocol StoreWriter: AnyObject {
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

  /// Whether nobody else changes the database while a transaction is open: what was read stays as it is without a lock.
  var isAlone: Bool { get }

  /// The latest stamp that is in the database.
  func latestClock() throws -> Stamp

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

  // MARK: The transaction

  /// Begins a transaction, and fetches and locks what its commands will probably touch, as far as that is faster than to ask later.
  func begin(_ footprints: [Footprint]) throws -> Fetched

  /// Writes what has changed.
  func write(_ delta: Delta) throws

  /// Writes what has changed, and makes all that was written since `begin` durable.
  ///
  /// - Parameter changes: what the transaction changed, for other servers on the same database.
  func commit(_ delta: Delta, announcing changes: ZoneChanges) throws

  /// Takes all written since `begin` back. Does not fail: a connection that can't is given up.
  func rollBack()

  /// From here on, what is written can be taken back alone.
  func beginSavepoint() throws

  /// Keeps what was written since the savepoint, and checks now what would be checked at the commit.
  func keepSavepoint() throws

  /// Takes back what was written since the savepoint.
  func undoSavepoint() throws

  /// Whether a trigger of the team has rolled back the whole transaction.
  var hasEnded: Bool { get }

  /// Writes something of no meaning, to see whether writing works.
  func probe(_ text: String) throws

  /// What a failure of the store means.
  func meaning(of error: any Error) -> StoreFailure

  /// Ends the use of the connection.
  func close() throws

  // MARK: Records

  /// Records of a table, each as the database has it, in the order of their ids.
  func read(_ ids: [String], of table: Int) throws -> [RecordEntry]

  /// The ids of the records whose column has one of some values, each with the value.
  ///
  /// - Parameters:
  ///   - limit: how many are enough; there may be more.
  ///   - zones: the zones in which those can be that have a value; empty for all.
  func references(
    of table: Int, by column: Int, to values: [String], limit: Int, zones: (String) -> [String]
  ) throws -> [(id: String, value: String)]

  /// The ids of the records in a zone that have the values of a unique group, none of them null.
  func ids(of table: Int, sharing group: Int, _ values: [Value], in zone: String) throws -> [String]

  /// The nearest positions in a list on one side of a mark, the nearest first, each with its record.
  func positions(_ side: RecordList.Side, _ mark: String, in list: RecordList, limit: Int) throws -> [(
    id: String, position: String
  )]
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

/// The zones, and who has which role in them, as the database has them.
package protocol ZoneTable: AnyObject {
  /// A zone; nil when there is no such one. From here to the end of the transaction nobody else changes a record of it.
  func lock(_ name: String) throws -> LockedZone?

  /// Whether a zone has records besides its members.
  func hasRecords(_ name: String) throws -> Bool

  /// Whether a zone is that of a root record in a table which only servers with a newer schema know.
  func hasUnknownRoot(_ name: String) throws -> Bool

  /// Remembers that somebody was erased from a zone up to its seq of now: snapshots from before have the name.
  func setErased(_ seq: Int64, of name: String) throws

  /// Remembers up to where the team's program was told of zones; never less than before.
  func setNotified(_ zones: [NotifiedZone]) throws

  /// What a user may do in a zone, as its own member or by its groups; nil for who may nothing.
  func role(of user: String, in zone: String) throws -> Role?

  /// The same of all users who may something.
  func roles(in zone: String) throws -> TextMap<Role>

  /// The record of a zone's own member, with its role; nil for others, also for who has not accepted yet.
  func ownMember(_ user: String, of zone: String) throws -> (id: String, role: Role?)?

  /// The own members of a zone who have accepted, and its groups.
  func members(of zone: String) throws -> [Member]

  /// The groups of a zone.
  func groups(of zone: String) throws -> [Member]

  /// How many own members and groups a zone has, those who have not accepted yet included.
  func memberCount(of zone: String) throws -> Int

  /// The records of a zone's own owners.
  func owners(of zone: String) throws -> [String]
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
