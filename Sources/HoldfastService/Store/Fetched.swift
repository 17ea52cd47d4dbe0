package import HoldfastCore

/// The data that a store fetched when the transaction began. The transaction reads other data on demand.
package struct Fetched {
  /// The indexes of the commands that must wait for another transaction.
  package var waiting: Set<Int> = []
  /// The latest stamp that other servers stored in the locked rows.
  package var clock = Stamp.zero
  package var records: [Footprint.Key: RecordEntry] = [:]
  /// Records of which there is nothing.
  package var absent: [Footprint.Key] = []
  /// The locked zones; nil for unknown zones.
  package var zones: TextMap<LockedZone?> = [:]
  /// The roles in locked zones.
  package var roles: [ZoneUser: Role?] = [:]
  /// The locked devices, by number; nil for unknown devices.
  package var devices: [Int64: DeviceRow?] = [:]
  package var requests: [RequestPlace: RememberedRequest] = [:]
  package var creators: [Creator: String?] = [:]

  package init() {}
}
