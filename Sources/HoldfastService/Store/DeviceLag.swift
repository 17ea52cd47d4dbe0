package import HoldfastCore

/// How many changes a device has not acked yet.
package struct DeviceLag: Sendable, Equatable {
  package let id: String
  package let name: String
  /// When the device was last seen, in milliseconds since 1970. Updated at least once a day while the device syncs.
  package let seenAt: Int64
  /// The app and schema version that the device reported last; nil if it reported none.
  package let client: ClientVersion?
  /// The number of zones on the device.
  package let zones: Int
  /// The number of zones with changes that the device has not acked.
  package let behind: Int
  /// The number of unacked seqs in these zones: an upper bound of the unacked changes.
  package let changes: Int64

  package init(
    id: String, name: String, seenAt: Int64, client: ClientVersion?, zones: Int = 0, behind: Int = 0,
    changes: Int64 = 0
  ) {
    (self.id, self.name, self.seenAt, self.client, self.zones, self.behind, self.changes) = (
      id, name, seenAt, client, zones, behind, changes
    )
  }
}
