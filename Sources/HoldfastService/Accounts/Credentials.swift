package import HoldfastCore

/// Parses and checks the bodies of requests about accounts, sessions and devices.
package struct Credentials: Sendable {
  private var name: String?
  private var password: String?
  /// A JWT in place of name and password.
  private var token: String?
  /// The pass of a guest in place of name and password.
  private var pass: String?
  private var deviceName: String?
  package private(set) var deviceID: String?
  /// The session number that the client had last; nil if not stated.
  package private(set) var session: Int64?

  /// Reads `{"name", "password", "device": {"name", "id"?, "session"?}}`, or `token` or `pass` in place of the first two.
  ///
  /// - Parameter allowsDeviceID: true for a sign-in, false for a sign-up.
  ///
  /// - Throws: `Problem`: `malformedJSON` or `invalidRequest`.
  package init(body: [UInt8], allowsDeviceID: Bool) throws(Problem) {
    var read = Self()
    try readJSON(body) { reader in
      try reader.readObject { key, reader in
        switch key {
        case "name": read.name = try reader.readString()
        case "password": read.password = try reader.readString()
        case "token" where allowsDeviceID: read.token = try reader.readString()
        case "pass" where allowsDeviceID: read.pass = try reader.readString()
        case "device":
          try reader.readObject { key, reader in
            switch key {
            case "name": read.deviceName = try reader.readString()
            case "id" where allowsDeviceID: read.deviceID = try reader.readString()
            case "session" where allowsDeviceID: read.session = try reader.readInt64()
            default: throw Problem(.invalidRequest, "Unknown member \"device.\(key.string.prefix(64))\".")
            }
          }
        default: throw Problem(.invalidRequest, "Unknown member \"\(key.string.prefix(64))\".")
        }
      }
    }
    self = read
  }

  private init() {}

  /// The name, password and device name of a sign-up or sign-in.
  ///
  /// - Throws: `Problem.invalidRequest` with the member that is missing or invalid.
  package func complete() throws(Problem) -> (name: String, password: String, device: String) {
    guard let name else { throw Problem(.invalidRequest, "name is missing.") }
    guard let password else { throw Problem(.invalidRequest, "password is missing.") }
    if token != nil || pass != nil {
      throw Problem(.invalidRequest, "token and pass take the place of name and password.")
    }
    // PostgreSQL can't store U+0000 in a text.
    if name.utf8.contains(0) { throw Problem(.invalidRequest, "name can't have U+0000.") }
    return (name, password, try device())
  }

  /// The JWT of a sign-in, and the device name; nil for a sign-in with a password.
  ///
  /// - Throws: `Problem.invalidRequest`.
  package func byToken() throws(Problem) -> (token: String, device: String)? {
    guard let token else { return nil }
    if name != nil || password != nil || pass != nil {
      throw Problem(.invalidRequest, "token takes the place of name and password.")
    }
    return (token, try device())
  }

  /// The pass of a guest's sign-in, and the device name; nil for other sign-ins.
  ///
  /// - Throws: `Problem.invalidRequest`.
  package func byPass() throws(Problem) -> (pass: String, device: String)? {
    guard let pass, token == nil else { return nil }
    if name != nil || password != nil {
      throw Problem(.invalidRequest, "pass takes the place of name and password.")
    }
    return (pass, try device())
  }

  private func device() throws(Problem) -> String {
    if deviceID?.utf8.contains(0) == true { throw Problem(.invalidRequest, "device.id can't have U+0000.") }
    return try Self.checkedDeviceName(deviceName)
  }

  /// Reads `{"name"}`, the name of a device.
  ///
  /// - Throws: `Problem`: `malformedJSON` or `invalidRequest`.
  package static func deviceName(body: [UInt8]) throws(Problem) -> String {
    try checkedDeviceName(readText("name", of: body))
  }

  /// Checks the name of a new account.
  package static func checkNewName(_ name: String) throws(Problem) {
    let isGood =
      (1...64).contains(name.utf8.count) && name.utf8.first.map { isLetterOrDigit($0) } == true
      && name.utf8.allSatisfy { isLetterOrDigit($0) || $0 == 0x2E || $0 == 0x5F || $0 == 0x2D }
    if !isGood {
      throw Problem(
        .invalidRequest,
        "name must have 1 to 64 of a-z, 0-9, \".\", \"_\" and \"-\", beginning with a letter or digit.")
    }
  }

  /// Checks a new password.
  package static func checkNewPassword(_ password: String) throws(Problem) {
    if !(8...1024).contains(password.utf8.count) {
      throw Problem(.invalidRequest, "password must have 8 to 1024 bytes.")
    }
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
  }

  private static func checkedDeviceName(_ name: String?) throws(Problem) -> String {
    guard let name, (1...64).contains(name.unicodeScalars.count), !name.utf8.contains(0) else {
      throw Problem(.invalidRequest, "The name of the device must have 1 to 64 characters.")
    }
    return name
  }
}
