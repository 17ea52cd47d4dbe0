/// Creates an account with its first device.
package struct SignUp: Sendable {
  package let name: String
  /// The password's hash, in its stored form.
  package let password: String
  package let device: String
  package let token: TokenHash

  package init(name: String, password: String, device: String, token: TokenHash) {
    (self.name, self.password, self.device, self.token) = (name, password, device, token)
  }
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

/// Signs in a user of an identity provider.
package struct ProviderSignIn: Sendable {
  package let identity: Identity
  /// The preferred name of a new user. If it is taken, the server appends a suffix.
  package let name: String
  /// The id of the device to continue, or nil for a new one.
  package let device: String?
  /// The number of the device's last session on the sender; nil if not stated.
  package let session: Int64?
  package let deviceName: String
  package let token: TokenHash
  /// Whether the token belongs to a device whose tokens are JWTs.
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
