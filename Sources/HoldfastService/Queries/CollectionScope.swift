package import HoldfastCore

/// The zones of a collection.
package struct CollectionScope {
  package let zones: [VisibleZones.Zone]
  /// Whether the collection is a fixed single zone, whatever zones the user gains or loses.
  package let isOneZone: Bool
  private let losses: Int64
  private let epoch: String

  /// Everything that is visible to a user.
  package init(_ visible: VisibleZones, epoch: String) {
    (zones, isOneZone, losses) = (visible.zones, false, visible.losses)
    self.epoch = epoch
  }

  /// A table, restricted to one zone if `zone` names it.
  ///
  /// - Throws: `Problem.notFound` for a zone that is unknown or not visible to the user.
  package init(
    _ visible: VisibleZones, of table: Int, in schema: SyncSchema, zone: String?, user: String, epoch: String
  )
    throws(Problem)
  {
    self.epoch = epoch
    losses = visible.losses
    let own: String?
    switch schema.ground(of: table) {
    case .user: own = user
    case .public(let name): own = name
    default: own = nil
    }
    guard let name = zone ?? own else {
      // Other zones cannot contain records of such tables.
      let others = schema.tables[table].isBuiltIn ? [] : schema.publicZones + [user]
      zones = visible.zones.filter { !others.contains($0.zone) }
      isOneZone = false
      return
    }
    if let found = visible.zone(name) {
      (zones, isOneZone) = ([found], true)
    } else if zone == nil {
      // A user can lose the own zone only by plain SQL. The collection is then empty.
      (zones, isOneZone) = ([], false)
    } else {
      throw Problem(.notFound)
    }
  }

  /// A zone of the collection by name, or nil.
  package func zone(_ name: String) -> VisibleZones.Zone? {
    zones.first { $0.zone.utf8.elementsEqual(name.utf8) }
  }

  /// The state that the collection's ETag encodes.
  package var state: CollectionState { CollectionState(epoch: epoch, zones: zones.map { ($0.zone, $0.seq) }) }

  /// A number that grows with every change: the `Last-Modified` time in seconds.
  package var age: Int64 {
    if isOneZone { return zones[0].seq }
    return zones.reduce(losses) { $0 &+ $1.seq &+ 1 }
  }
}
