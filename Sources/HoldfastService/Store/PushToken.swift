package import HoldfastCore

/// The address of a device at a push service such as APNs: docs/PUSH.md. Others must not read it, and no log contains it.
package struct PushToken: Sendable, Equatable {
  /// The maximum size of a token, in bytes.
  package static let sizeLimit = 4096

  /// The push service: 1 to 32 of a-z, 0-9, `.`, `_` and `-`, such as `apns`.
  package let kind: String
  /// Opaque; without U+0000.
  package let token: String

  package init(kind: String, token: String) { (self.kind, self.token) = (kind, token) }

  /// The bytes by which the database finds a token.
  package static func hash(of token: String) -> [UInt8] { SHA256.hash(of: Array(token.utf8)) }

  /// Reads `{"kind", "token"}`.
  ///
  /// - Throws: `Problem`: `malformedJSON` or `invalidRequest`.
  package init(body: [UInt8]) throws(Problem) {
    var (kind, token) = ("", "")
    try readJSON(body) { reader in
      try reader.readObject { key, reader in
        switch key {
        case "kind": kind = try reader.readString()
        case "token": token = try reader.readString()
        default: throw Problem(.invalidRequest, "Unknown member \"\(key.string.prefix(64))\".")
        }
      }
    }
    let isGood =
      (1...32).contains(kind.utf8.count)
      && kind.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789._-".utf8.contains($0) }
    if !isGood {
      throw Problem(.invalidRequest, "kind must have 1 to 32 of a-z, 0-9, \".\", \"_\" and \"-\".")
    }
    guard (1...Self.sizeLimit).contains(token.utf8.count), !token.utf8.contains(0) else {
      throw Problem(
        .invalidRequest, "token must have 1 to \(Self.sizeLimit) bytes, and can't have U+0000.")
    }
    self.init(kind: kind, token: token)
  }
}

/// A device with a push token that may read a changed zone.
package struct PushTarget: Sendable {
  package let device: Int64
  package let id: String
  package let user: String
  /// The public zone that the device follows; nil if it was found by its user.
  package let zone: String?
  package let token: PushToken

  package init(device: Int64, id: String, user: String, zone: String?, token: PushToken) {
    (self.device, self.id, self.user, self.zone, self.token) = (device, id, user, zone, token)
  }
}

/// The devices among which those to wake are searched.
package enum PushAudience: Sendable {
  /// The devices of these users.
  case users([String])
  /// The devices that follow these public zones.
  case followers([String])
}
