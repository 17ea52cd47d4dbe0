package import HoldfastCore

/// What a store has read at the beginning of a transaction. What is not here is asked when it is needed.
package struct Fetched {
  /// The commands that have to wait for somebody else's transaction.
  package var waiting: Set<Int> = []
  /// The latest stamp that other servers left in what is locked.
  package var clock = Stamp.zero
  package var records: [Footprint.Key: RecordEntry] = [:]
  /// The zones that are locked; nil for those that are not there.
  package var zones: TextMap<LockedZone?> = [:]
  /// The roles in zones that are locked.
  package var roles: [ZoneUser: Role?] = [:]
  /// The devices that are locked, by number.
  package var devices: [Int64: DeviceRow?] = [:]
  package var requests: [RequestPlace: RememberedRequest] = [:]
  package var creators: [Creator: String?] = [:]

  package init() {}
}
