/// Where a zone is: docs/MOVING.md.
package struct ZonePlace: Sendable, Equatable {
  /// The database to which the zone has moved; nil while it is here.
  package let leftFor: String?
  /// The number of the zone's last move to another database; 0 for a zone that never moved.
  package let number: Int64

  package init(leftFor: String?, number: Int64) { (self.leftFor, self.number) = (leftFor, number) }
}
