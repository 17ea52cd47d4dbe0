import HoldfastCore

/// What the server gives at sign-up and sign-in.
struct Session: Sendable {
  struct Named: Sendable {
    let id: String
    let name: String
  }
  let user: Named
  let device: Named
  let token: String
  /// Counts the device's sessions; 0 when the server does not say.
  let number: Int64
  /// Where this device is a copy: the last change sets of the one that it is a copy of; nil when the server does not say.
  let applied: AppliedChangeSets?

  /// Reads the server's answer; nil when a part is missing, or has not the form of PROTOCOL.md, section 2.
  init?(body: [UInt8]) {
    guard let value = try? JSONValue(parsing: body), let user = Self.named(value["user"]),
      let device = Self.named(value["device"]), let token = value["token"]?.stringValue,
      (1...Self.longestToken).contains(token.utf8.count),
      token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    self.user = user
    self.device = device
    self.token = token
    number = value["device"]?["session"]?.integerValue ?? 0
    applied = value["applied"].flatMap(AppliedChangeSets.init(json:))
  }

  /// In bytes.
  private static let longestToken = 4096

  private static func named(_ value: JSONValue?) -> Named? {
    guard let id = value?["id"]?.stringValue, let name = value?["name"]?.stringValue,
      Identifier.isPossible(id), (1...64).contains(name.unicodeScalars.count), !name.utf8.contains(0)
    else { return nil }
    return Named(id: id, name: name)
  }
}
