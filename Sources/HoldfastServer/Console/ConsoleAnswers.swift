import HoldfastCore
import HoldfastService

/// The answers of the console from one snapshot of the database. Each reads a bounded number of rows.
struct ConsoleAnswers {
  /// The maximum number of acks that the lags of a page of devices are made of.
  static let ackLimit = 10_000

  let reader: any ConsoleReader
  let limits: UserLimits
  let epoch: String
  let schema: SyncSchema
  let now: Int64
  /// Devices last seen at or before this time hold no tombstones back.
  let liveAfter: Int64

  init(
    _ reader: any ConsoleReader, limits: UserLimits, epoch: String, schema: SyncSchema, now: Int64,
    liveAfter: Int64
  ) {
    (self.reader, self.limits, self.epoch, self.schema) = (reader, limits, epoch, schema)
    (self.now, self.liveAfter) = (now, liveAfter)
  }

  /// The rows to read for a page: one more, which tells whether another page follows.
  static let limit = Console.pageSize + 1

  /// The rows of a page.
  ///
  /// - Parameters:
  ///   - query: with `limit`.
  ///   - place: the place of a row, behind which a page begins.
  /// - Returns: also the place behind which the next page begins; nil for the last page.
  func page(_ query: ConsoleQuery, by place: ([String?]) -> String?) throws -> (
    rows: [[String?]], next: String?
  ) {
    let rows = try reader.rows(query)
    let page = Array(rows.prefix(Console.pageSize))
    return (page, rows.count > page.count ? page.last.flatMap(place) : nil)
  }

  // MARK: Users

  /// `GET users`: those of a name, or with an id.
  func users(_ search: String, after: String) throws -> JSONValue {
    var (rows, next) = try page(.usersByName(prefix: search, after: after, limit: Self.limit)) { $0[1] }
    if !search.isEmpty, after.isEmpty { rows = try reader.rows(.users([search])) + rows }
    let users = rows.map { ConsoleUser($0) }
    let devices = try devices(.devicesOfUsers(users.map(\.id), after: 0, limit: 1000))
    return Self.page(
      "users",
      users.map { user in
        let own = devices.filter { $0.user == user.id }
        return [
          "id": .string(user.id), "name": .string(user.name), "created": .time(user.created),
          "devices": .integer(Int64(own.count)),
          "signed_in": .integer(Int64(own.count { $0.session == .signedIn })),
          "last_seen": .time(own.map(\.seenAt).max() ?? 0),
        ]
      }, next: next)
  }

  /// The names of users; an id stands for a user who is gone.
  func names(of ids: some Sequence<String>) throws -> TextMap<String> {
    let ids = Array(TextSet(ids.filter { !$0.isEmpty }))
    if ids.isEmpty { return [:] }
    return TextMap(try reader.rows(.users(ids)).map { ConsoleUser($0) }.map { ($0.id, $0.name) })
  }

  // MARK: Devices

  func devices(_ query: ConsoleQuery) throws -> [ConsoleDevice] {
    try reader.rows(query).map { ConsoleDevice($0, limits, at: now) }
  }

  /// The devices of some numbers.
  func devices(numbered numbers: some Sequence<Int64>) throws -> [Int64: ConsoleDevice] {
    let devices = try devices(.devicesByNumber(Array(Set(numbers))))
    return Dictionary(devices.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// `GET devices`: all, or those with an id, of a user's id, or of users whose name begins so.
  func devices(_ search: String, after: Int64) throws -> JSONValue {
    let limit = Self.limit
    var devices: [ConsoleDevice]
    if search.isEmpty {
      devices = try self.devices(.devices(after: after, limit: limit))
    } else {
      devices = after == 0 ? try self.devices(.device(search)) : []
      let users = try reader.rows(.usersByName(prefix: search, after: "", limit: limit)).map { $0[0] ?? "" }
      devices += try self.devices(.devicesOfUsers(users + [search], after: after, limit: limit))
    }
    let next = devices.count >= limit ? String(devices[Console.pageSize - 1].number) : nil
    devices = Array(devices.prefix(Console.pageSize))
    let names = try names(of: devices.map(\.user))
    let acks = try reader.rows(.acks(devices.map(\.number), limit: Self.ackLimit + 1)).map { ConsoleAck($0) }
    let zones = try zones(named: acks.map(\.zone))
    let lags = Dictionary(grouping: acks.prefix(Self.ackLimit), by: \.device)
    // Of a device with more acks, the rest is not counted.
    let cut = acks.count > Self.ackLimit ? acks[Self.ackLimit - 1].device : .max
    return Self.page(
      "devices",
      devices.map { device in
        let own = lags[device.number] ?? []
        let behind = own.compactMap { ack in
          zones[ack.zone].map { ZoneLag($0, ack, role: "", epoch: epoch) }
        }.filter { $0.state != .current }
        return .object(
          summary(of: device, names) + [
            .init("zones", .integer(Int64(own.count))), .init("zones_behind", .integer(Int64(behind.count))),
            .init("changes_behind", .integer(behind.reduce(0) { $0 + $1.changes })),
            .init("complete", .bool(device.number < cut)),
          ])
      }, next: next)
  }

  func summary(of device: ConsoleDevice, _ names: TextMap<String>) -> [JSONValue.Member] {
    [
      .init("id", .string(device.id)), .init("number", .integer(device.number)),
      .init("name", .string(device.name)), .init("app", .string(device.app)),
      .init("user", user(device.user, names)), .init("session", .string(device.session.rawValue)),
      .init("last_seen", .time(device.seenAt)), .init("operations", .integer(device.confirmed)),
    ]
  }

  func user(_ id: String, _ names: TextMap<String>) -> JSONValue {
    id.isEmpty ? .null : ["id": .string(id), "name": .string(names[id] ?? id)]
  }

  /// `GET devices/ID`: its zones, each with its lag, and the change sets that were refused.
  func device(_ id: String, after: String) throws -> JSONValue {
    let device = try known(id)
    let names = try names(of: [device.user])
    let limit = Self.limit
    let acks = try reader.rows(.acksOfDevice(device.number, after: after, limit: limit)).map {
      ConsoleAck($0)
    }
    let access = try reader.rows(.accessOfUser(device.user, after: after, limit: limit))
    let roles = TextMap(access.map { ($0[0] ?? "", $0[1] ?? "") })
    let known = TextMap(acks.map { ($0.zone, $0) })
    let all = TextSet(acks.map(\.zone) + roles.map { $0.key }).sorted()
    let page = Array(all.prefix(Console.pageSize))
    let zones = try zones(named: page)
    let refusals = try reader.rows(.refusalsOfDevice(device.number, limit: Console.pageSize))
    let lags = try page.map { name -> JSONValue in
      // A role beyond the page of roles is looked up.
      let role = try roles[name] ?? role(of: device.user, in: name)
      let lag = ZoneLag(zones[name], known[name], role: role, epoch: epoch)
      return .object(
        [
          .init("zone", .string(name)), .init("role", role.map { .string($0) } ?? .null),
          .init("seq", zones[name].map { .integer($0.seq) } ?? .null),
          .init("acked", known[name].map { .integer($0.seq) } ?? .null),
        ] + (lag.json.members ?? []))
    }
    return .object(
      summary(of: device, names) + [
        .init(
          "note", .string(Self.obstacles(of: device).map { "The device \($0)." }.joined(separator: " "))),
        .init("zones", .array(lags)),
        .init("refusals", .array(refusals.map { Self.refusal($0) })),
        .init("next", all.count > Console.pageSize ? .string(page[Console.pageSize - 1]) : .null),
      ])
  }

  /// - Throws: `Problem.notFound`.
  func known(_ id: String) throws -> ConsoleDevice {
    guard let device = try devices(.device(id)).first else {
      throw Problem(.notFound, "There is no device with this id.")
    }
    return device
  }

  func role(of user: String, in zone: String) throws -> String? {
    try reader.rows(.role(user, zone: zone)).first?[0]
  }

  /// What keeps a device as a whole from what it lacks, each in words that follow "The device "; the weightiest first.
  static func obstacles(of device: ConsoleDevice) -> [String] {
    var found: [String] = []
    switch device.session {
    case .signedIn: break
    case .signedOut: found.append("is signed out: it syncs again when its user signs in on it")
    case .expired: found.append("has a session that has expired: it syncs again when its user signs in on it")
    case .program: found.append("is a program with a service token or JWTs, which does not sync")
    }
    if device.isUnseenSinceRestore {
      found.append("has not synced since the last restore: it resyncs its zones when it does")
    }
    if device.hasPurgedAcks {
      found.append("was away for so long that its acks were purged: it resyncs its zones when it returns")
    }
    return found
  }

  static func page(_ name: String, _ rows: [JSONValue], next: String?) -> JSONValue {
    .object([.init(name, .array(rows)), .init("next", next.map { .string($0) } ?? .null)])
  }
}
