import HoldfastCore

/// What kind of token a request came with, which decides what it is good for.
package enum TokenUse: Sendable, Equatable {
  /// The token of a device.
  case session
  /// A service token.
  case service(TokenScope)
  /// A JWT, with when it was issued, in milliseconds since 1970; 0 when it does not say.
  case provider(issuedAt: Int64)

  /// That of a stored token.
  ///
  /// - Parameter scope: the stored scope of a service token; nil for others.
  package init(scope text: String?) throws(ServerError) {
    guard let text else {
      self = .session
      return
    }
    guard let scope = TokenScope(text) else {
      throw ServerError(.damaged, "The scope of a service token can't be read. Revoke it.")
    }
    self = .service(scope)
  }

  package var scope: TokenScope? { if case .service(let scope) = self { scope } else { nil } }

  /// Whether the token is still good.
  ///
  /// - Parameter issuedAfter: of the device of a JWT, from when on issued ones are taken.
  package func isTaken(after issuedAfter: Int64?) -> Bool {
    guard case .provider(let issuedAt) = self else { return true }
    return issuedAfter.map { issuedAt > $0 } ?? false
  }
}
