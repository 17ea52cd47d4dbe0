/// A new account with its first device.
package struct SignUp: Sendable {
  package let name: String
  /// The password's hash, as it is stored.
  package let password: String
  package let device: String
  package let token: TokenHash

  package init(name: String, password: String, device: String, token: TokenHash) {
    (self.name, self.password, self.device, self.token) = (name, password, device, token)
  }
}

/// Another password for a user who gave the right one.
package struct PasswordChange: Sendable {
  package let key: DeviceKey
  /// The stored hash that the old password was verified against.
  package let old: String
  /// The new one's hash.
  package let new: String
  /// Whether the user's other sessions go on.
  package let keepsSessions: Bool

  package init(key: DeviceKey, old: String, new: String, keepsSessions: Bool) {
    (self.key, self.old, self.new, self.keepsSessions) = (key, old, new, keepsSessions)
  }
}

/// A user whom an identity provider vouches for.
package struct ProviderSignIn: Sendable {
  package let identity: Identity
  /// What the user is to be called, if nobody has the name.
  package let name: String
  /// The id of a device to continue, or nil for a new one.
  package let device: String?
  /// Which of the device's sessions the sender had last; nil when it does not say.
  package let session: Int64?
  package let deviceName: String
  package let token: TokenHash
  /// Whether the token is that of a device which JWTs stand for.
  package let isForTokens: Bool

  package init(
    identity: Identity, name: String, device: String?, session: Int64?, deviceName: String, token: TokenHash,
    isForTokens: Bool
  ) {
    (self.identity, self.name, self.device, self.session, self.deviceName, self.token, self.isForTokens) = (
      identity, name, device, session, deviceName, token, isForTokens
    )
  }
}

/// A user who gave the right password.
package struct SignIn: Sendable {
  package let user: String
  /// The stored hash that the password was verified against.
  package let password: String
  /// The id of a device to continue, or nil for a new one.
  package let device: String?
  /// Which of the device's sessions the sender had last; nil when it does not say.
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
