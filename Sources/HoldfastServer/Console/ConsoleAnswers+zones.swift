import HoldfastCore
import HoldfastService

extension ConsoleAnswers {
  func zones(named names: [String]) throws -> TextMap<ConsoleZone> {
    if names.isEmpty { return [:] }
    return TextMap(
      try reader.rows(.zones(Array(TextSet(names)))).map { ConsoleZone($0) }.map { ($0.name, $0) })
  }

  /// `GET zones`: those whose name begins so.
  func zones(_ search: String, after: String) throws -> JSONValue {
    let (rows, next) = try page(.zonesByName(prefix: search, after: after, limit: Self.limit)) { $0[0] }
    return Self.page("zones", rows.map { ConsoleZone($0).json }, next: next)
  }

  /// `GET zones/NAME`: the zone, the users who may read it, and the devices that have it.
  func zone(_ name: String, after: String) throws -> JSONValue {
    guard let zone = try zones(named: [name])[name] else {
      throw Problem(.notFound, "There is no zone of this name.")
    }
    let (access, next) = try page(.accessToZone(name, after: after, limit: Self.limit)) { $0[0] }
    let names = try names(of: access.map { $0[0] ?? "" })
    return .object(
      (zone.json.members ?? []) + [
        .init(
          "members",
          .array(
            access.map { row in
              ["user": user(row[0] ?? "", names), "role": .string(row[1] ?? "")]
            })),
        .init("next", next.map { .string($0) } ?? .null),
      ] + (try devices(of: zone)))
  }

  /// The devices that have a zone, the furthest behind first, and the one that holds its tombstones back: docs/RETENTION.md, section 1.
  private func devices(of zone: ConsoleZone) throws -> [JSONValue.Member] {
    let acks = try reader.rows(.acksOfZone(zone.name, epoch: epoch, limit: Console.pageSize)).map {
      ConsoleAck($0)
    }
    let devices = try devices(numbered: acks.map(\.device))
    let names = try names(of: devices.values.map(\.user))
    var holder: JSONValue = .null
    var rows: [JSONValue] = []
    for ack in acks {
      guard let device = devices[ack.device] else { continue }
      let lag = ZoneLag(zone, ack, role: try role(of: device.user, in: zone.name), epoch: epoch)
      let isLive = device.seenAt > liveAfter
      let shown: [JSONValue.Member] = [
        .init("id", .string(device.id)), .init("name", .string(device.name)),
        .init("user", user(device.user, names)), .init("last_seen", .time(device.seenAt)),
        .init("acked", .integer(ack.seq)), .init("live", .bool(isLive)),
      ]
      rows.append(.object(shown + (lag.json.members ?? [])))
      if holder == .null, isLive, lag.state == .behind { holder = .object(shown) }
    }
    return [.init("held_by", holder), .init("devices", .array(rows))]
  }

  /// `GET conflicts`, the newest first.
  func conflicts(before: String?) throws -> JSONValue {
    let (rows, next) = try page(.conflicts(before: before, limit: Self.limit)) { $0[0] }
    return Self.page("conflicts", try conflicts(rows), next: next)
  }

  func conflicts(_ rows: [[String?]]) throws -> [JSONValue] {
    let names = try names(of: rows.flatMap { [$0[7] ?? "", $0[11] ?? ""] })
    return rows.map { row in
      func side(_ first: Int) -> JSONValue {
        [
          "value": .cut(row[first]), "user": user(row[first + 1] ?? "", names),
          "device": row[first + 2].map { .string($0) } ?? .null,
          "at": row[first + 3].map { .string($0) } ?? .null,
        ]
      }
      return [
        "id": .string(row[0] ?? ""), "zone": .string(row[1] ?? ""), "table": .string(row[2] ?? ""),
        "record": .string(row[3] ?? ""), "column": .string(row[4] ?? ""), "policy": .string(row[5] ?? ""),
        "winner": side(6), "loser": side(10), "resolution": .string(row[14] ?? "open"),
      ]
    }
  }

  /// `GET refusals`: the refused change sets that devices have not dealt with.
  func refusals(afterDevice device: Int64, afterFirst first: Int64) throws -> JSONValue {
    let (rows, next) = try page(.refusals(afterDevice: device, afterFirst: first, limit: Self.limit)) {
      "\($0.integer(0)).\($0.integer(1))"
    }
    let devices = try devices(numbered: rows.map { $0.integer(0) })
    let names = try names(of: devices.values.map(\.user))
    return Self.page(
      "refusals",
      rows.map { row in
        let device = devices[row.integer(0)]
        return .object(
          [
            .init("device", device.map { ["id": .string($0.id), "name": .string($0.name)] } ?? .null),
            .init("user", device.map { user($0.user, names) } ?? .null),
          ] + (Self.refusal(row).members ?? []))
      }, next: next)
  }

  static func refusal(_ row: [String?]) -> JSONValue {
    let problem = try? JSONValue(parsing: Array((row[4] ?? "").utf8))
    return [
      "first": .integer(row.integer(1)), "last": .integer(row.integer(2)),
      "operation": .integer(row.integer(3)), "problem": .cut(problem?["code"]?.stringValue),
      "detail": .cut(problem?["detail"]?.stringValue ?? problem?["title"]?.stringValue),
    ]
  }
}
