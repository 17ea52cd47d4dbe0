package import HoldfastCore

/// What a command will probably touch, so that a store can fetch and lock it in one round trip. What is missing here is found when it is
/// asked for; what is here in vain costs a little time.
package struct Footprint: Sendable {
  /// A record by the index of its table.
  package struct Key: Hashable, Sendable {
    package let table: Int
    package let id: String

    package init(table: Int, id: String) {
      (self.table, self.id) = (table, id)
    }
  }

  /// The devices whose number may move.
  package var device: DeviceKey?
  /// The user who writes.
  package var user: String?
  /// Records that operations name.
  package var records: [Key] = []
  /// Records of the same zone that are referred to.
  package var parents: [Key] = []
  /// Zones by their names.
  package var zones: [String] = []
  /// The id of the device's request, where it has one.
  package var request: String?
  /// Records that the answer shows, with the request that created them.
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

extension ServiceCommand {
  /// What the command will probably touch.
  package func footprint(_ schema: SyncSchema) -> Footprint {
    switch self {
    case .sync(let command): command.footprint(schema)
    case .rest(let command): command.footprint(schema)
    case .purge(.tombstones(let zone), _): Footprint(zones: [zone])
    case .purge(.conflicts(let conflicts), _):
      Footprint(
        records: conflicts.map {
          Footprint.Key(table: schema.index(of: TableSchema.conflicts.name) ?? 0, id: $0.id)
        }, zones: TextSet(conflicts.map(\.zone)).sorted())
    case .purge(.departure(let user, let zone), _): Footprint(user: user, zones: [zone])
    case .purge(.erasedRecords(let user, let zone, let records), _):
      Footprint(user: user, records: records, zones: [zone])
    case .copyDevice, .signOut, .revoke, .revokeOthers, .changePassword, .erase, .signUp, .signIn,
      .signInByProvider,
      .accept, .keepResult, .notified, .purge, .keepTime,
      .probe:
      Footprint(device: key)
    case .membership(let key, let change): change.footprint(key, schema)
    case .invite(_, let invitation, _): Footprint(device: key, user: key?.user, zones: [invitation.zone])
    case .revokeInvitation(_, _, let zone): Footprint(device: key, user: key?.user, zones: [zone])
    }
  }
}

extension SyncCommand {
  fileprivate func footprint(_ schema: SyncSchema) -> Footprint {
    var footprint = Footprint(device: key, user: key.user)
    footprint.zones = request.claims.map(\.zone)
    for case .success(let item) in request.recovered {
      footprint.records.append(Footprint.Key(table: item.table, id: item.id))
      footprint.zones.append(item.zone)
    }
    for set in request.changeSets {
      guard case .success(let operations) = set.content else { continue }
      for operation in operations { footprint.add(operation, schema, user: key.user) }
    }
    return footprint
  }
}

extension RestCommand {
  fileprivate func footprint(_ schema: SyncSchema) -> Footprint {
    var footprint = Footprint(device: key, user: key.user, request: request?.id)
    for case .success(let item) in items.dropFirst(progress.done) {
      footprint.add(item.operation, schema, user: key.user)
      if item.verb == .update || item.verb == .replace || item.verb == .restore {
        footprint.shown.append(
          Footprint.Key(table: item.operation.table, id: item.operation.id))
      }
    }
    return footprint
  }
}

extension Footprint {
  fileprivate mutating func add(_ operation: RecordOperation, _ schema: SyncSchema, user: String) {
    let table = schema.tables[operation.table]
    records.append(Key(table: operation.table, id: operation.id))
    for link in schema.links(of: operation.table) where link.isInZone {
      if let id = operation.value(of: link.column)?.text { parents.append(Key(table: link.target, id: id)) }
    }
    switch table.zone {
    case .root: zones.append(operation.id)
    case .user: zones.append(user)
    case .public(let name): zones.append(name)
    case .explicit: if let zone = operation.zone { zones.append(zone) }
    case .parent, .server: break
    }
  }
}
