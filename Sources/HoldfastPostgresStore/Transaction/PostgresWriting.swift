package import HoldfastCore
package import HoldfastPostgres
package import HoldfastService

/// The operations of a store that differ between a single database and distributed tables: docs/POSTGRES.md, sections 2 and 7.
package protocol PostgresWriting: AnyObject {
  /// Whether a failure is a lock timeout, beyond those that PostgreSQL reports as such.
  func isLateLock(_ error: PostgresError) -> Bool

  /// The latest stamp of a zone or a device.
  func latestClock() throws -> Stamp

  /// Begins the transaction, locks and reads.
  func fetch(_ footprints: [Footprint]) throws(PostgresError) -> Fetched

  /// Records of a table, in the order of their ids.
  func read(_ ids: [String], of table: Int) throws -> [RecordEntry]

  /// Writes the changes in one round trip.
  ///
  /// - Parameter changes: the notifications for other servers, if this write ends the transaction. If nil, writes only zones and records.
  func write(_ delta: Delta, andCommit changes: ZoneChanges?) throws(PostgresError)

  /// The ids of the stored records whose column has one of some values, each with the value. `zones` returns the zones in which references
  /// to a value can be; empty for all.
  func references(
    of table: Int, by column: Int, to values: [String], limit: Int, zones: (String) -> [String]
  ) throws -> [(id: String, value: String)]

  /// The ids of the stored records in a zone that have the given values of a unique group.
  func ids(of table: Int, sharing group: Int, _ values: [Value], in zone: String) throws -> [String]

  /// Stores up to which seq the webhook was notified of each zone.
  func setNotified(_ zones: [NotifiedZone]) throws

  /// A device with its refusals and the count of its acks; nil for an unknown device. Locks its row.
  func device(_ number: Int64) throws -> DeviceRow?

  /// Adds a device.
  func add(_ device: NewDevice) throws

  /// The last session of a user's device. Locks its row.
  func session(of device: String, user: String) throws -> LastSession?

  /// Begins a new session of a device. `session` must be called before.
  func beginSession(_ number: Int64, of device: String, name: String, token: TokenHash, at now: Int64) throws
}

extension LastSession {
  /// Decodes the first row; nil without rows.
  package init?(_ rows: PostgresRows) {
    if rows.isEmpty { return nil }
    self.init(
      number: rows.int64(0, 0), isUsed: rows.bool(0, 1), applied: AppliedChangeSets(bytes: rows.bytes(0, 2)))
  }
}
