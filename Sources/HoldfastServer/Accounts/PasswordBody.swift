import HoldfastCore
import HoldfastService

/// The parsed body of `PUT /v1/account/password`: `{"old", "new", "keep_sessions"?}`.
struct PasswordBody: Sendable {
  let old: String
  let new: String
  let keepsSessions: Bool

  /// - Throws: `Problem`: `malformedJSON` or `invalidRequest`.
  init(_ body: [UInt8]) throws(Problem) {
    var (old, new, keepsSessions): (String?, String?, Bool) = (nil, nil, false)
    try readJSON(body) { reader in
      try reader.readObject { key, reader in
        switch key {
        case "old": old = try reader.readString()
        case "new": new = try reader.readString()
        case "keep_sessions": keepsSessions = try reader.readBool()
        default: throw Problem(.invalidRequest, "Unknown member \"\(key.string.prefix(64))\".")
        }
      }
    }
    guard let old, let new else { throw Problem(.invalidRequest, "old and new must be there.") }
    try Credentials.checkNewPassword(new)
    (self.old, self.new, self.keepsSessions) = (old, new, keepsSessions)
  }
}
