package import HoldfastCore

/// A writing transaction on the shared database, over one connection: one transaction and one thread at a time. Reads return the state in
/// the database. `Transaction` keeps the changes in memory, and writes them in one batch.
///
/// One test suite runs on every store.
package protocol StoreWriter: AnyObject {
  /// Zones and roles.
  var zones: any ZoneTable { get }
  /// Devices, acks and refusals.
  var devices: any DeviceTable { get }
  /// Accounts.
  var accounts: any AccountTable { get }
  /// REST requests with ids.
  var requests: any RequestTable { get }
  /// Recovery after a restore.
  var recovery: any RecoveryTable { get }
  /// Stored query results.
  var results: any ResultTable { get }
  /// Retention.
  var purging: any PurgeTable { get }
  /// Invitations.
  var invitations: any InvitationTable { get }
  /// The audit log and the samples of the console.
  var operators: any OperatorTable { get }
  /// Guests, and what the directory has to be told.
  var guests: any GuestTable { get }
  /// Consents of users.
  var consents: any ConsentTable { get }
  /// Origins of carried change sets.
  var carried: any CarriedTable { get }

  /// Whether the transaction is the only writer of the database. Data that it has read then stays valid without locks.
  var isAlone: Bool { get }

  /// Whether the transaction relies on rows that earlier ones have read. They may be outdated until `commit` returns, so no error but
  /// `UnknownOutcome` says anything about the database: after `rollBack` the next transaction asks for all.
  var reliesOnMemory: Bool { get }

  /// The number of the last transaction, if the readers may know without asking what it has left; else nil.
  var committed: Int64? { get }

  /// Whether the database certainly keeps the records of the transaction as they are written. A trigger or a column of a team may change them.
  var isVerbatim: Bool { get }

  /// The latest stamp in the database.
  func latestClock() throws -> Stamp

  /// The history of the transaction. No other epoch begins before the transaction ends.
  var history: History { get }

  /// Creates and verifies proofs with the database's key.
  var prover: Prover { get }

  /// Begins a new epoch in its own transaction. Each other transaction commits completely before or after it, and sees the new epoch from
  /// then on. No transaction may be open. Code that opens a database and has only a connection calls `SQLiteEpoch.begin` or
  /// `PostgresEpoch.begin`.
  ///
  /// - Parameter current: the epoch to replace; nil for any. If another epoch has begun meanwhile, the call does nothing.
  /// - Returns: whether the epoch has begun.
  func beginEpoch(_ epoch: NewEpoch, after current: String?) throws -> Bool

  // MARK: The transaction

  /// How long each statement of the next transactions waits for a lock of another transaction, where there are others.
  var patience: Duration { get set }

  /// Begins a transaction. Fetches and locks the footprints of its commands where that is faster than reading on demand.
  func begin(_ footprints: [Footprint]) throws -> Fetched

  /// Writes the changes.
  func write(_ delta: Delta) throws

  /// Writes the changes, and makes everything written since `begin` durable.
  ///
  /// - Parameter changes: the notifications for other servers on the same database.
  func commit(_ delta: Delta, announcing changes: ZoneChanges) throws

  /// Rolls back everything written since `begin`. Never fails: a connection that cannot roll back is closed.
  func rollBack()

  /// Begins a savepoint.
  func beginSavepoint() throws

  /// Releases the savepoint, and runs deferred checks now instead of at the commit.
  func keepSavepoint() throws

  /// Rolls back to the savepoint.
  func undoSavepoint() throws

  /// Whether a team's trigger has rolled back the whole transaction.
  var hasEnded: Bool { get }

  /// Writes a text without meaning, to test whether the database accepts writes.
  func probe(_ text: String) throws

  /// Classifies a failure of the store.
  func meaning(of error: any Error) -> StoreFailure

  /// Closes the connection.
  func close() throws

  // MARK: Records

  /// The stored records of a table, in the order of their ids.
  func read(_ ids: [String], of table: Int) throws -> [RecordEntry]

  /// Locks records before the references to them are read, because the transaction deletes them. No other transaction adds a reference to
  /// them from then on, and `references` finds those of all transactions that have ended.
  func lock(deleted ids: [String], of table: Int) throws

  /// The ids of the records whose column has one of some values, each with the value.
  ///
  /// - Parameter limit: a sufficient number of results; there may be more.
  func references(of table: Int, by column: Int, to values: [String], limit: Int) throws -> [(
    id: String, value: String
  )]

  /// The ids of the records in a zone that have the given values of a unique group. The values are not null.
  func ids(of table: Int, sharing group: Int, _ values: [Value], in zone: String) throws -> [String]

  /// The nearest positions in a list on one side of a mark, the nearest first, each with its record.
  func positions(_ side: RecordList.Side, _ mark: String, in list: RecordList, limit: Int) throws -> [(
    id: String, position: String
  )]
}

/// The cause of a store's failure. Nothing of the affected commands was written.
package enum StoreFailure {
  /// The disk is full.
  case full
  /// The database is unavailable at the moment.
  case unavailable
  /// The database refuses this operation until an operator changes its settings or permissions.
  case denied
  /// Serialization failure, or an interruption. Retry immediately.
  case transient
  /// Another transaction has held a lock for longer than the store's patience. Retry later.
  case blocked
  /// The written data violates a rule, and would do so again: a unique constraint, a reference, or a check or trigger of the team. The
  /// value is the database's error code, with the names of what it is about.
  case rule(String)
  /// Any other failure: a fault.
  case other
}

/// The stored zones, and the users' roles in them.
package protocol ZoneTable: AnyObject {
  /// A zone, or nil. Locks the zone: no other transaction changes its records until this one ends.
  func lock(_ name: String) throws -> LockedZone?

  /// Whether a zone has records besides its members.
  func hasRecords(_ name: String) throws -> Bool

  /// Whether the zone's root record is in a table that only servers with a newer schema know.
  func hasUnknownRoot(_ name: String) throws -> Bool

  /// Stores that a user was erased from a zone, with the zone's current seq. Older snapshots still contain the user's name.
  func setErased(_ seq: Int64, of name: String) throws

  /// The number of a zone's last move to another database; 0 for a zone that never moved.
  func moveNumber(of name: String) throws -> Int64

  /// Stores at once that a zone has moved, or has arrived here.
  ///
  /// - Parameters:
  ///   - database: where the zone is now; nil for here.
  ///   - number: that of the move.
  ///   - purged: the zone's purge horizon in the other database; a lesser one here is raised to it.
  ///   - state: what is known of the move.
  func setMoved(_ name: String, to database: String?, number: Int64, purged: Int64, state: ZonePlace.State)
    throws

  /// Stores at once that deletions in pieces may go on in some zones until a time, in milliseconds since 1970. Never moves back.
  func setDeleting(in zones: [String], until time: Int64) throws

  /// Until when deletions in pieces may go on in a zone; 0 for one that had none.
  func deletingUntil(_ name: String) throws -> Int64

  /// Stores up to which seq the webhook was notified of each zone. Never moves back.
  func setNotified(_ zones: [NotifiedZone]) throws

  /// A user's role in a zone, by an own membership or by groups; nil without access.
  func role(of user: String, in zone: String) throws -> Role?

  /// The roles of all users with access to the zone.
  func roles(in zone: String) throws -> TextMap<Role>

  /// The record and role of a user's own membership in a zone. Nil without one, and while it is pending.
  func ownMember(_ user: String, of zone: String) throws -> (id: String, role: Role?)?

  /// The own members of a zone, pending ones too, and its groups.
  func members(of zone: String) throws -> [Member]

  /// The groups of a zone.
  func groups(of zone: String) throws -> [Member]

  /// The number of own members and groups of a zone, including pending ones.
  func memberCount(of zone: String) throws -> Int

  /// The ids of the `members` records of the zone's own owners.
  func owners(of zone: String) throws -> [String]
}

/// A member of a zone: a user, or a group (the own members of another zone).
package struct Member {
  /// The id of the `members` record.
  package let id: String
  package let user: String?
  package let group: String?
  package let role: Role
  /// Whether the user has not accepted the membership yet.
  package let isPending: Bool

  package init?(id: String, user: String?, group: String?, role: String?, isPending: Bool) {
    guard let role = role.flatMap(Role.init) else { return nil }
    (self.id, self.user, self.group, self.role, self.isPending) = (id, user, group, role, isPending)
  }
}

/// The seq of a zone up to which the webhook was notified.
package struct NotifiedZone: Sendable {
  package let zone: String
  package let seq: Int64

  package init(zone: String, seq: Int64) {
    (self.zone, self.seq) = (zone, seq)
  }
}
