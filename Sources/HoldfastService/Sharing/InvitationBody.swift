package import HoldfastCore

/// The body of `POST /v1/zones/{zone}/invitations`, read and checked: `{"role", "expires_in", "uses"}`.
package struct InvitationBody {
  package let role: Role
  /// In seconds.
  package let lifetime: Int64
  package let uses: Int64

  /// - Throws: `Problem`: `malformedJSON` or `invalidRequest`.
  package init(_ body: [UInt8]) throws(Problem) {
    var (role, lifetime, uses): (Role?, Int64?, Int64?) = (nil, nil, nil)
    try readJSON(body) { reader in
      try reader.readObject { key, reader in
        switch key {
        case "role": role = Role(rawValue: try reader.readString())
        case "expires_in": lifetime = try reader.readInt64()
        case "uses": uses = try reader.readInt64()
        default: throw Problem(.invalidRequest, "Unknown member \"\(key.string.prefix(64))\".")
        }
      }
    }
    guard let role else { throw Problem(.invalidRequest, "role must be viewer, editor or owner.") }
    guard let lifetime, 1...Invitation.secondsLimit ~= lifetime else {
      throw Problem(.invalidRequest, "expires_in must be 1 to \(Invitation.secondsLimit) seconds.")
    }
    guard let uses, 1...Invitation.useLimit ~= uses else {
      throw Problem(.invalidRequest, "uses must be 1 to \(Invitation.useLimit).")
    }
    (self.role, self.lifetime, self.uses) = (role, lifetime, uses)
  }

  /// Reads `{"token"}`.
  package static func token(_ body: [UInt8]) throws(Problem) -> String {
    guard let token = try readText("token", of: body) else {
      throw Problem(.invalidRequest, "token must be there.")
    }
    return token
  }
}
