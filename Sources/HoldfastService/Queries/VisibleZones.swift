import HoldfastCore

/// What a user may read, at one moment.
package struct VisibleZones {
  package struct Zone {
    package let zone: String
    package let seq: Int64
    /// What the zone still remembers from.
    package let purged: Int64
    package let role: String

    package init(zone: String, seq: Int64, purged: Int64, role: String) {
      (self.zone, self.seq, self.purged, self.role) = (zone, seq, purged, role)
    }
  }

  /// In the order of their names, byte by byte.
  package let zones: [Zone]
  /// The sum of seq + 1 of all zones that the user has lost, each as it was then: with it what is counted of zones never returns to an
  /// earlier number.
  package let losses: Int64

  package init(_ zones: [Zone], losses: Int64) {
    self.zones = zones.sorted { $0.zone.utf8.lexicographicallyPrecedes($1.zone.utf8) }
    self.losses = losses
  }

  /// A zone by its name, or nil for one that the user may not read.
  package func zone(_ name: String) -> Zone? { zones.first { Self.isSame($0.zone, name) } }

  private static func isSame(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }
}
