import HoldfastCore

/// The zones that are visible to a user, in one snapshot.
package struct VisibleZones {
  package struct Zone {
    package let zone: String
    package let seq: Int64
    /// The zone's purge horizon.
    package let purged: Int64
    package let role: String

    package init(zone: String, seq: Int64, purged: Int64, role: String) {
      (self.zone, self.seq, self.purged, self.role) = (zone, seq, purged, role)
    }
  }

  /// Ordered by name, byte by byte.
  package let zones: [Zone]
  /// The sum of seq + 2 over all zones that the user has lost, each as of its loss. So `CollectionScope.age` grows by each loss.
  package let losses: Int64

  package init(_ zones: [Zone], losses: Int64) {
    self.zones = zones.sorted { $0.zone.utf8.lexicographicallyPrecedes($1.zone.utf8) }
    self.losses = losses
  }

  /// A visible zone by name, or nil.
  package func zone(_ name: String) -> Zone? { zones.first { Self.isSame($0.zone, name) } }

  private static func isSame(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }
}
