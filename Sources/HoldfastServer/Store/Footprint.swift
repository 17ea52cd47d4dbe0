import HoldfastCore

/// What a command will probably touch, so that a store can fetch and lock it in one round trip. What is missing here is found when it is
/// asked for; what is here in vain costs a little time.
struct Footprint: Sendable {
  /// A record by the index of its table.
  struct Key: Hashable, Sendable {
    let table: Int
    let id: String
  }

  /// The devices whose number may move.
  var device: DeviceKey?
  /// The user who writes.
  var user: String?
  /// Records that operations name.
  var records: [Key] = []
  /// Records of the same zone that are referred to.
  var parents: [Key] = []
  /// Zones by their names.
  var zones: [String] = []
  /// The id of the device's request, where it has one.
  var request: String?
  /// Records that the answer shows, with the request that created them.
  var shown: [Key] = []
}

extension ServiceCommand {
  /// What the command will probably touch.
  func footprint(_ schema: SyncSchema) -> Footprint {
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
