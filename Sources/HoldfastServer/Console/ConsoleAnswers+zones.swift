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
    let rows = try reader.rows(.zonesByName(prefix: search, after: after, limit: Console.pageSize + 1))
    let next = rows.count > Console.pageSize ? rows[Console.pageSize - 1][0] : nil
    return Self.page("zones", rows.prefix(Console.pageSize).map { ConsoleZone($0).json }, next: next)
  }

  /// `GET zones/NAME`: the zone, and the users who may read it.
  func zone(_ name: String, after: String) throws -> JSONValue {
    guard let zone = try zones(named: [name])[name] else {
      throw Problem(.notFound, "There is no zone of this name.")
    }
    let access = try reader.rows(.accessToZone(name, after: after, limit: Console.pageSize + 1))
    let next = access.count > Console.pageSize ? access[Console.pageSize - 1][0] : nil
    let page = access.prefix(Console.pageSize)
    let names = try names(of: page.map { $0[0] ?? "" })
    return .object(
      (zone.json.members ?? []) + [
        .init(
          "members",
          .array(
            page.map { row in
              ["user": user(row[0] ?? "", names), "role": .string(row[1] ?? "")]
            })),
        .init("next", next.map { .string($0) } ?? .null),
      ])
  }

  /// `GET conflicts`, the newest first.
  func conflicts(before: String?) throws -> JSONValue {
    let rows = try reader.rows(.conflicts(before: before, limit: Console.pageSize + 1))
    let next = rows.count > Console.pageSize ? rows[Console.pageSize - 1][0] : nil
    return Self.page("conflicts", try conflicts(Array(rows.prefix(Console.pageSize))), next: next)
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
    let rows = try reader.rows(
      .refusals(afterDevice: device, afterFirst: first, limit: Console.pageSize + 1))
    let page = Array(rows.prefix(Console.pageSize))
    let devices = try devices(.devicesByNumber(Array(Set(page.map { $0.integer(0) }))))
    let known = Dictionary(devices.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
    let names = try names(of: devices.map(\.user))
    let next = rows.count > Console.pageSize ? page.last.map { "\($0.integer(0)).\($0.integer(1))" } : nil
    return Self.page(
      "refusals",
      page.map { row in
        let device = known[row.integer(0)]
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
