import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The endpoints of a user's devices.
struct DeviceRoutes {
  let api: API

  /// The maximum number of devices in the list.
  private static let deviceLimit = 1000

  /// `GET /v1/devices`: the devices of the token's user, most recently seen first.
  func devices(_ request: HTTPRequest) throws -> Step {
    try api.read { reader in
      let own = try api.device(of: request, reader).key
      try QueryParameters(request).requireOnly()
      var writer = JSONWriter()
      writer.beginObject()
      writer.key("devices")
      writer.beginArray()
      for device in try reader.store.devices(of: own.user, limit: Self.deviceLimit) {
        Self.write(device, isCurrent: device.number == own.number, to: &writer)
      }
      writer.endArray()
      writer.endObject()
      return .answer(.json(writer.bytes))
    }
  }

  private static func write(_ device: ListedDevice, isCurrent: Bool, to writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("id")
    writer.string(device.id)
    writer.key("name")
    writer.string(device.name)
    writer.key("created_at")
    writer.string(Timestamp.text(milliseconds: time(ofID: device.id)))
    writer.key("last_seen_at")
    writer.string(Timestamp.text(milliseconds: device.seenAt))
    writer.key("has_session")
    writer.bool(device.hasSession)
    writer.key("is_current")
    writer.bool(isCurrent)
    writer.endObject()
  }

  /// The time at which an id was created, as stored in a UUIDv7: RFC 9562, section 5.7.
  private static func time(ofID id: String) -> Int64 {
    Int64(id.prefix(13).filter { $0 != "-" }, radix: 16) ?? 0
  }

  /// `POST /v1/devices`: creates another device of the token's user.
  func copyDevice(_ request: HTTPRequest) throws -> Step {
    let known = try api.read { try api.device(of: request, $0) }
    try api.requireJSON(request)
    let name = try Credentials.deviceName(body: request.body)
    try api.signIns.take(known.key.user, at: api.environment.measured())
    let token = makeToken(random: api.environment.random)
    return .write(.copyDevice(known.key, name: name, token: TokenHash(of: token))) {
      AccountRoutes.session($0, token: token, status: 201)
    }
  }

  /// `PUT /v1/push-token` and `DELETE /v1/push-token`: sets or removes the push token of the sending device.
  func setPushToken(_ request: HTTPRequest) throws -> Step {
    let key = try api.read { try api.device(of: request, $0).key }
    if request.method == "DELETE" { return .write(.setPushToken(key, nil), API.done) }
    try api.requireJSON(request)
    return .write(.setPushToken(key, try PushToken(body: request.body)), API.done)
  }

  /// `DELETE /v1/devices/{id}`.
  func revoke(_ request: HTTPRequest, device id: String) throws -> Step {
    .write(.revoke(try api.read { try api.device(of: request, $0).key }, device: id), API.done)
  }

  /// `DELETE /v1/sessions`: ends all other sessions of the user.
  func endOtherSessions(_ request: HTTPRequest) throws -> Step {
    .write(.revokeOthers(try api.read { try api.device(of: request, $0).key }), API.done)
  }

  /// `DELETE /v1/sessions/current`.
  func signOut(_ request: HTTPRequest) throws -> Step {
    .write(.signOut(try api.read { try api.device(of: request, $0).key }), API.done)
  }
}
