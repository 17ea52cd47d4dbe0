import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The endpoints of zones and their changes: PROTOCOL.md, section 9.7.
struct ZoneRoutes {
  let api: API

  /// `GET /v1/zones`: the user's visible zones.
  func zones(_ request: HTTPRequest) throws -> Step {
    try api.read { reader in
      let (key, store) = try api.sender(of: request, reader)
      try QueryParameters(request).requireOnly()
      let visible = try store.visibleZones(of: key.user, publicZones: api.schema.publicZones)
      let validators = CollectionScope(visible, epoch: store.history.epoch).validators
      if try Preconditions(request).match(tag: validators.tag, seconds: validators.seconds) {
        return .answer(.notModified(validators))
      }
      var writer = JSONWriter()
      writer.beginObject()
      writer.key("zones")
      writer.beginArray()
      for zone in visible.zones {
        writer.beginObject()
        writer.key("zone")
        writer.string(zone.zone)
        writer.key("role")
        writer.string(zone.role)
        writer.key("token")
        writer.string(ChangeToken(epoch: store.history.epoch, seq: zone.seq).text)
        writer.endObject()
      }
      writer.endArray()
      writer.endObject()
      return .answer(.content(writer.bytes, validators))
    }
  }

  /// `GET /v1/zones/{zone}/changes`: PROTOCOL.md, section 9.7.
  func changes(_ request: HTTPRequest, zone name: String) throws -> Step {
    if let answer = try unchanged(request, zone: name) { return .answer(answer) }
    let hash = try Authentication(api: api).bearer(of: request).hash
    // What is wrong with them is said to who may know of the zone.
    let parameters = try? QueryParameters(request)
    let (since, count) = (
      try? parameters.flatMap { try Self.since($0) }, try? parameters.map { try Self.count($0) }
    )
    let lookUp = LookUp(hash, .zone(name, since: since, count: count ?? 1))
    return try api.look(lookUp, request) { try changes(request, zone: name, lookUp) }
  }

  /// How many changes a page has.
  private static func count(_ parameters: QueryParameters) throws(Problem) -> Int64 {
    Int64(try parameters.number("limit", in: 1...10000) ?? 1000)
  }

  private func changes(_ request: HTTPRequest, zone name: String, _ lookUp: LookUp) throws -> Step {
    try api.read { reader in
      try reader.store.moment(of: lookUp) {
        let (key, store) = try api.sender(of: request, reader)
        try requireAllTables(key)
        let parameters = try QueryParameters(request)
        try parameters.requireOnly("since", "limit")
        let limit = try Self.count(parameters)
        let known = try store.readable(name, by: key.user)
        var zone = known.acked(try Self.since(parameters))
        if zone.hasChanges, let refreshed = try store.refreshed([zone]).first {
          zone = refreshed
        }
        if zone.role.isEmpty { throw Problem(.notFound) }
        if zone.isFenced(epoch: store.history.epoch) { throw Problem(.tokenFenced) }
        let (bytes, end) = try reader.reading(store).part(of: zone, count: limit)
        let validators = HTTPResponse.Validators(tag: end.tag)
        if try Preconditions(request).match(tag: validators.tag, seconds: nil) {
          return .answer(.notModified(validators))
        }
        return .answer(.content(bytes, validators))
      }
    }
  }

  /// The answer to a sender who has all changes of a zone, where that is known; nil else.
  private func unchanged(_ request: HTTPRequest, zone name: String) throws -> HTTPResponse? {
    guard let known = request.headers["If-None-Match"], request.headers["If-Match"] == nil else { return nil }
    let bearer = try Authentication(api: api).bearer(of: request)
    return try api.database.recall { memory in
      guard bearer.issuedAt == nil, let (device, history) = memory.device(bearer.hash), api.isGood(device),
        case .session = device.key.use, let zone = memory.zone(name, for: device.key.user)
      else { return nil }
      // As it is asked for again and again; another form of the same is looked at as any request is.
      let token = ChangeToken(epoch: history.epoch, seq: zone.seq)
      let tag = token.text
      let progress = zone.acked(token)
      guard known == "\"\(tag)\"", String(request.query) == "since=\(tag)", !zone.role.isEmpty,
        !progress.hasChanges, !progress.isFenced(epoch: history.epoch)
      else { return nil }
      return .notModified(.init(tag: tag))
    }
  }

  /// The change token after which changes are requested; nil for all.
  private static func since(_ parameters: QueryParameters) throws(Problem) -> ChangeToken? {
    guard let text = parameters["since"], !text.isEmpty else { return nil }
    guard let token = ChangeToken(text) else {
      throw Problem(.invalidRequest, "since must be a change token.")
    }
    return token
  }

  /// Checks that a token covers all tables, because a zone's changes and its snapshot do.
  ///
  /// - Throws: `Problem.tokenLimited`.
  func requireAllTables(_ key: DeviceKey) throws(Problem) {
    if key.use.scope?.tables != nil { throw Problem(.tokenLimited, "A zone has records of all tables.") }
  }
}
