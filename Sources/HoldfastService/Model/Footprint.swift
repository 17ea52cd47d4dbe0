import HoldfastCore

/// The records and zones that a command will probably read and write, so that a store can fetch and lock them in one round trip. Missing
/// entries are fetched on demand; superfluous entries cost a little time.
package struct Footprint: Sendable {
  /// A record by the index of its table.
  package struct Key: Hashable, Sendable {
    package let table: Int
    package let id: String

    package init(table: Int, id: String) {
      (self.table, self.id) = (table, id)
    }
  }

  /// The device that sends the command.
  package var device: DeviceKey?
  /// The user who writes.
  package var user: String?
  /// Records that operations name, without those that they create.
  package var records: [Key] = []
  /// Records that operations create. Of most there is nothing yet.
  package var created: [Key] = []
  /// Records to create under ids that the server generated. No place of them exists yet.
  package var newRecords: [Key] = []
  /// Records of the same zone that operations reference.
  package var parents: [Key] = []
  /// Zones, by name.
  package var zones: [String] = []
  /// The id of the device's request, if it has one.
  package var request: String?
  /// Records in the answer, which shows the request that created each.
  package var shown: [Key] = []

  package init(
    device: DeviceKey? = nil, user: String? = nil, records: [Key] = [], parents: [Key] = [],
    zones: [String] = [], request: String? = nil, shown: [Key] = []
  ) {
    (self.device, self.user, self.records, self.parents, self.zones, self.request, self.shown) = (
      device, user, records, parents, zones, request, shown
    )
  }
}

extension Footprint {
  /// Adds what another command of the same user will probably read and write.
  mutating func add(_ other: Footprint) {
    user = user ?? other.user
    records += other.records
    created += other.created
    zones += other.zones
  }

  /// Adds what an operation will probably read and write.
  mutating func add(_ operation: RecordOperation, _ schema: SyncSchema, user: String) {
    let table = schema.tables[operation.table]
    let key = Key(table: operation.table, id: operation.id)
    if operation.hasNewID {
      newRecords.append(key)
    } else if operation.kind == .create {
      created.append(key)
    } else {
      records.append(key)
    }
    for link in schema.links(of: operation.table) where link.isInZone {
      if let id = operation.value(of: link.column)?.text { parents.append(Key(table: link.target, id: id)) }
    }
    switch table.zone {
    case .root: zones.append(operation.id)
    case .user: add(zone: user)
    case .public(let name): add(zone: name)
    case .explicit: if let zone = operation.zone { add(zone: zone) }
    case .parent, .server: break
    }
  }

  /// Adds a zone, unless it is that of the operation before.
  private mutating func add(zone: String) { if zones.last != zone { zones.append(zone) } }
}
