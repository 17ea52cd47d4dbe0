/// Where a zone is: docs/MOVING.md.
package struct ZonePlace: Sendable, Equatable {
  /// The database to which the zone has moved; nil while it is here.
  package let leftFor: String?
  /// The number of the zone's last move to another database; 0 for a zone that never moved.
  package let number: Int64
  /// What is known of that move.
  package let state: State

  /// What is known of a move by a database in which the zone is not.
  package enum State: Int64, Sendable {
    /// The zone was let go, and may not have arrived.
    case going = 0
    /// It has arrived in the other database.
    case arrived = 1
    /// The move was to this database, and was cancelled: the zone did not leave from here.
    case refused = 2
  }

  package init(leftFor: String?, number: Int64, state: State = .going) {
    (self.leftFor, self.number, self.state) = (leftFor, number, state)
  }
}
