/// The origin of a carried change set that took effect in a zone: docs/MOVING.md, section 4.
package struct CarriedOrigin: Sendable, Equatable {
  package let user: String
  package let origin: String
  package let zone: String
  /// When it took effect, in milliseconds since 1970.
  package let at: Int64

  package init(user: String, origin: String, zone: String, at: Int64) {
    (self.user, self.origin, self.zone, self.at) = (user, origin, zone, at)
  }
}

/// The origins of the carried change sets that took effect. Changes take the zone's lock.
package protocol CarriedTable: AnyObject {
  /// The zones in which a user's set of an origin took effect.
  func zones(of origin: String, by user: String) throws -> [String]

  /// Adds an origin to a zone.
  ///
  /// - Returns: false if the zone has it.
  func add(_ origin: CarriedOrigin) throws -> Bool

  /// Removes all origins of a zone.
  func removeAll(of zone: String) throws
}
