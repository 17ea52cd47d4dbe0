/// A device as its token named it. The writer looks again, so that a token that died meanwhile writes nothing.
package struct DeviceKey: Sendable, Equatable {
  package let number: Int64
  /// The id of its user.
  package let user: String
  package let token: TokenHash
  /// What the token is good for.
  package var use = TokenUse.session

  package init(number: Int64, user: String, token: TokenHash, use: TokenUse = TokenUse.session) {
    (self.number, self.user, self.token, self.use) = (number, user, token, use)
  }
}
