import HoldfastCore
import HoldfastService

internal import CSodium

/// The body and the signature of a webhook call.
enum WebhookText {
  /// The body: `{"id", "at", "zones": [{"zone", "seq", "public", "users"}], "devices": [{"id", "kind", "token"}]}`.
  static func body(id: String, at milliseconds: Int64, _ zones: [UnnotifiedZone], _ devices: [PushTarget])
    -> [UInt8]
  {
    var writer = JSONWriter(capacity: 256 + zones.count * 128 + devices.count * 256)
    writer.beginObject()
    writer.key("id")
    writer.string(id)
    writer.key("at")
    writer.string(Timestamp.text(milliseconds: milliseconds))
    writer.key("zones")
    writer.beginArray()
    for zone in zones {
      writer.beginObject()
      writer.key("zone")
      writer.string(zone.zone)
      writer.key("seq")
      writer.int64(zone.seq)
      writer.key("public")
      writer.bool(zone.isPublic)
      writer.key("users")
      writer.beginArray()
      for user in zone.users { writer.string(user) }
      writer.endArray()
      writer.endObject()
    }
    writer.endArray()
    writer.key("devices")
    writer.beginArray()
    for device in devices {
      writer.beginObject()
      writer.key("id")
      writer.string(device.id)
      writer.key("kind")
      writer.string(device.token.kind)
      writer.key("token")
      writer.string(device.token.token)
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
    return writer.bytes
  }

  /// The dead push tokens that an answer names; none if it has another form.
  static func gone(_ answer: [UInt8]) -> [String] {
    let value = try? JSONValue(parsing: answer)
    return (value?["gone"]?.elements ?? []).compactMap(\.stringValue)
  }

  /// `t=MILLISECONDS,v1=HEX`: HMAC-SHA256 (RFC 2104) of the milliseconds, a full stop and the body.
  static func signature(of body: [UInt8], at milliseconds: Int64, secret: [UInt8]) -> String {
    var state = crypto_auth_hmacsha256_state()
    var code = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_bytes()))
    crypto_auth_hmacsha256_init(&state, secret, secret.count)
    for part in [Array("\(milliseconds).".utf8), body] {
      crypto_auth_hmacsha256_update(&state, part, UInt64(part.count))
    }
    crypto_auth_hmacsha256_final(&state, &code)
    return "t=\(milliseconds),v1=\(hexadecimal(code))"
  }
}
