/// Creates an account with its first device.
package struct SignUp: Sendable {
  /// What the directory of the databases has for the name; nil without a directory.
  package var claim: AccountClaim?
  package let name: String
  /// The password's hash, in its stored form.
  package let password: String
  package let device: String
  package let token: TokenHash

  package init(name: String, password: String, device: String, token: TokenHash) {
    (self.name, self.password, self.device, self.token) = (name, password, device, token)
  }
}

/// The claim of a new user's name in the directory of the databases: docs/DIRECTORY.md.
package struct AccountClaim: Sendable, Equatable {
  /// The id of the user.
  package let user: String
  /// When it was made, in milliseconds since 1970.
  package let at: Int64
  /// After this time no account is made with it. After twice as long it is removed.
  package static let life = Duration.seconds(1800)

  package init(user: String, at: Int64) { (self.user, self.at) = (user, at) }
}

/// Changes the password of a user who gave the current one.
package struct PasswordChange: Sendable {
  package let key: DeviceKey
  /// The stored hash that the old password was verified against.
  package let old: String
  /// The hash of the new password.
  package let new: String
  /// Whether the user's other sessions stay valid.
  package let keepsSessions: Bool

  package init(key: DeviceKey, old: String, new: String, keepsSessions: Bool) {
    (self.key, self.old, self.new, self.keepsSessions) = (key, old, new, keepsSessions)
  }
}

/// What a valid JWT says.
package struct ProvenIdentity: Sendable, Equatable {
  package let identity: Identity
  /// The preferred name of a new user. If it is taken, the server appends a suffix.
  package var name: String
  /// What the directory of the databases has for the name; nil without a directory, and for a known user.
  package var claim: AccountClaim?
  /// The OAuth client that the JWT was issued to.
  package let client: String
  /// When it was issued, in milliseconds since 1970; 0 if it does not state that.
  package let issuedAt: Int64

  package init(identity: Identity, name: String, client: String, issuedAt: Int64) {
    (self.identity, self.name, self.client, self.issuedAt) = (identity, name, client, issuedAt)
  }

  /// The key of the device that stands for all JWTs of this identity and client.
  package var deviceKey: TokenHash { TokenHash(of: identity, client: client) }

  /// The name to try when a number of others are taken.
  package func name(after taken: Int, random: (Int) -> [UInt8]) -> String {
    if taken == 0 { return name }
    // Small numbers may be taken for a frequent name. Random digits are not.
    return "\(name.prefix(40))-\(taken < 9 ? String(taken + 1) : hexadecimal(random(8)))"
  }
}

/// Signs in a user of an identity provider, who begins a session with a JWT.
package struct ProviderSignIn: Sendable {
  package let proven: ProvenIdentity
  /// The id of the device to continue, or nil for a new one.
  package let device: String?
  /// The number of the device's last session on the sender; nil if not stated.
  package let session: Int64?
  package let deviceName: String
  package let token: TokenHash

  package init(
    proven: ProvenIdentity, device: String?, session: Int64?, deviceName: String, token: TokenHash
  ) {
    (self.proven, self.device, self.session, self.deviceName, self.token) = (
      proven, device, session, deviceName, token
    )
  }
}

/// Signs in a user who gave the right password.
package struct SignIn: Sendable {
  package let user: String
  /// The stored hash that the password was verified against.
  package let password: String
  /// The id of the device to continue, or nil for a new one.
  package let device: String?
  /// The number of the device's last session on the sender; nil if not stated.
  package let session: Int64?
  package let deviceName: String
  package let token: TokenHash

  package init(
    user: String, password: String, device: String?, session: Int64?, deviceName: String, token: TokenHash
  ) {
    (self.user, self.password, self.device, self.session, self.deviceName, self.token) = (
      user, password, device, session, deviceName, token
    )
  }
}
