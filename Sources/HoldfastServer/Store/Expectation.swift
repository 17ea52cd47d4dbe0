import HoldfastCore

/// What a command will probably touch, so that a store can fetch and lock it in one round trip. What is missing here is found when it is
/// asked for; what is here in vain costs a little time.
struct Expectation: Sendable {
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

extension Command {
  /// What the command will probably touch.
  func expectation(_ schema: Schema) -> Expectation {
    switch self {
    case .sync(let command): command.expectation(schema)
    case .rest(let command): command.expectation(schema)
    case .forget(.tombstones(let zone), _): Expectation(zones: [zone])
    case .forget(.conflicts(let conflicts), _):
      Expectation(
        records: conflicts.map {
          Expectation.Key(table: schema.index(of: Table.conflicts.name) ?? 0, id: $0.id)
        }, zones: TextSet(conflicts.map(\.zone)).sorted())
    case .forget(.departure(let user, let zone), _): Expectation(user: user, zones: [zone])
    case .forget(.erasedRecords(let user, let zone, let records), _):
      Expectation(user: user, records: records, zones: [zone])
    case .copyDevice, .signOut, .revoke, .revokeOthers, .changePassword, .erase, .signUp, .signIn,
      .signInByProvider,
      .accept, .keepResult, .told, .forget, .keepTime,
      .probe:
      Expectation(device: key)
    case .membership(let key, let change): change.expectation(key, schema)
    case .invite(_, let invitation, _): Expectation(device: key, user: key?.user, zones: [invitation.zone])
    case .revokeInvitation(_, _, let zone): Expectation(device: key, user: key?.user, zones: [zone])
    }
  }
}

extension SyncCommand {
  fileprivate func expectation(_ schema: Schema) -> Expectation {
    var expectation = Expectation(device: key, user: key.user)
    expectation.zones = request.claims.map(\.zone)
    for case .success(let item) in request.returns {
      expectation.records.append(Expectation.Key(table: item.table, id: item.id))
      expectation.zones.append(item.zone)
    }
    for set in request.changeSets {
      guard case .success(let operations) = set.content else { continue }
      for operation in operations { expectation.add(operation, schema, user: key.user) }
    }
    return expectation
  }
}

extension RestCommand {
  fileprivate func expectation(_ schema: Schema) -> Expectation {
    var expectation = Expectation(device: key, user: key.user, request: request?.id)
    for case .success(let item) in items {
      expectation.add(item.operation, schema, user: key.user)
      if item.verb == .update || item.verb == .replace || item.verb == .restore {
        expectation.shown.append(
          Expectation.Key(table: item.operation.table, id: item.operation.id))
      }
    }
    return expectation
  }
}

extension Expectation {
  fileprivate mutating func add(_ operation: Operation, _ schema: Schema, user: String) {
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
