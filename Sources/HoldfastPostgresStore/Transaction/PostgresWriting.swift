package import HoldfastCore
package import HoldfastPostgres
package import HoldfastService

/// What a store does in one way when its tables lie in one database, and in another when they are distributed over shards:
/// docs/POSTGRES.md, sections 2 and 7.
package protocol PostgresWriting: AnyObject {
  /// Whether a failure says that a lock was waited for in vain, besides those that PostgreSQL says so of.
  func isLateLock(_ error: PostgresError) -> Bool

  /// The latest stamp of a zone or a device.
  func latestClock() throws -> Stamp

  /// Begins the transaction, locks and reads.
  func fetch(_ footprints: [Footprint]) throws(PostgresError) -> Fetched

  /// Records of a table, in the order of their ids.
  func read(_ ids: [String], of table: Int) throws -> [RecordEntry]

  /// Writes what has changed, in one round trip.
  ///
  /// - Parameter changes: what other servers are told, when that ends the transaction; else only zones and records are written.
  func write(_ delta: Delta, andCommit changes: ZoneChanges?) throws(PostgresError)

  /// The ids of the records in the database whose column has one of some values, each with the value; `zones` says where those of a value
  /// can be, empty for all.
  func references(
    of table: Int, by column: Int, to values: [String], limit: Int, zones: (String) -> [String]
  ) throws -> [(id: String, value: String)]

  /// The ids of the records in the database that have the values of a unique group, `values`, in a record's zone.
  func ids(of table: Int, sharing group: Int, _ values: [Value], in zone: String) throws -> [String]

  /// Remembers up to where the team's program was told of zones.
  func setNotified(_ zones: [NotifiedZone]) throws

  /// A device whose row is locked, with its refusals and how many acks it has; nil when there is none.
  func device(_ number: Int64) throws -> DeviceRow?

  /// Adds a device.
  func add(_ device: NewDevice) throws

  /// The session of a user's device, whose row is locked.
  func session(of device: String, user: String) throws -> LastSession?

  /// Begins another session of a device whose session was asked for.
  func beginSession(_ number: Int64, of device: String, name: String, token: TokenHash, at now: Int64) throws
}

extension LastSession {
  /// The first of some rows; nil when there is none.
  package init?(_ rows: PostgresRows) {
    if rows.isEmpty { return nil }
    self.init(
      number: rows.int64(0, 0), isUsed: rows.bool(0, 1), applied: AppliedChangeSets(bytes: rows.bytes(0, 2)))
  }
}
