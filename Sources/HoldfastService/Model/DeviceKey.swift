/// A device, as identified by its token. The writer looks it up again, so that a token that was revoked meanwhile writes nothing.
package struct DeviceKey: Sendable, Equatable {
  package let number: Int64
  /// The id of its user.
  package let user: String
  package let token: TokenHash
  /// The kind of token.
  package var use = TokenUse.session

  package init(number: Int64, user: String, token: TokenHash, use: TokenUse = TokenUse.session) {
    (self.number, self.user, self.token, self.use) = (number, user, token, use)
  }
}
