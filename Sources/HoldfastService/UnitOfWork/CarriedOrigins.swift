import HoldfastCore

/// Lets the carried change sets of a user that have one origin take effect once (I1): docs/MOVING.md, section 4.
struct CarriedOrigins {
  let stores: RecordStores
  /// The time of the transaction, in milliseconds since 1970.
  let time: Int64

  /// Applies a set by `body`, which returns whether the set is complete, and stores its origin with each zone that it changed.
  ///
  /// - Throws: `Problem.alreadyApplied` if a set of this origin took effect; the caller rolls back.
  func once(_ origin: String, by user: String, _ body: () throws -> Bool) throws {
    let table = stores.store.carried
    // The origins of a zone that has moved on went with it. The set is refused with the zone's new database.
    for zone in try table.zones(of: origin, by: user) where try stores.ledger.leftFor(zone) == nil {
      throw Problem(.alreadyApplied)
    }
    guard try body() else { return }
    for zone in stores.ledger.zonesInPart {
      // Another node may have applied a copy before this transaction had the zone's lock.
      let isNew = try table.add(CarriedOrigin(user: user, origin: origin, zone: zone, at: time))
      if !isNew { throw Problem(.alreadyApplied) }
    }
  }
}
