package import HoldfastCore

/// The zones that a collection is made of.
package struct CollectionScope {
  package let zones: [VisibleZones.Zone]
  /// Whether it is one zone, whatever zones the user gains or loses.
  package let isOneZone: Bool
  private let losses: Int64
  private let epoch: String

  /// All that a user may read.
  package init(_ visible: VisibleZones, epoch: String) {
    (zones, isOneZone, losses) = (visible.zones, false, visible.losses)
    self.epoch = epoch
  }

  /// A table, in one zone when `zone` names it.
  ///
  /// - Throws: `Problem.notFound` for a zone that the user may not read, as for one that is not there.
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
      // Records of such tables are in no zone of another kind.
      let others = schema.tables[table].isBuiltIn ? [] : schema.publicZones + [user]
      zones = visible.zones.filter { !others.contains($0.zone) }
      isOneZone = false
      return
    }
    if let found = visible.zone(name) {
      (zones, isOneZone) = ([found], true)
    } else if zone == nil {
      // Who has lost the own zone, as only SQL can bring about, has no records of such tables.
      (zones, isOneZone) = ([], false)
    } else {
      throw Problem(.notFound)
    }
  }

  /// A zone of it by its name, or nil.
  package func zone(_ name: String) -> VisibleZones.Zone? {
    zones.first { $0.zone.utf8.elementsEqual(name.utf8) }
  }

  /// The state of it, as its ETag says it.
  package var state: CollectionState { CollectionState(epoch: epoch, zones: zones.map { ($0.zone, $0.seq) }) }

  /// A number that grows with each state: the seconds of its Last-Modified.
  package var age: Int64 {
    if isOneZone { return zones[0].seq }
    return zones.reduce(losses) { $0 &+ $1.seq &+ 1 }
  }
}
