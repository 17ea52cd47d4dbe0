import HoldfastCore

/// The kind of token of a request, which decides what the request may do.
package enum TokenUse: Sendable, Equatable {
  /// The token of a device.
  case session
  /// A service token.
  case service(TokenScope)
  /// A JWT, with its time of issue in milliseconds since 1970; 0 if it does not state one.
  case provider(issuedAt: Int64)

  /// The kind of a stored token.
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

  /// Whether the token is of its device's kind, and not revoked. The device of a JWT takes JWTs alone, and no other device takes one.
  ///
  /// - Parameter issuedAfter: for the device of a JWT: JWTs issued at or before this time are invalid. Nil for other devices.
  package func isTaken(after issuedAfter: Int64?) -> Bool {
    guard case .provider(let issuedAt) = self else { return issuedAfter == nil }
    return issuedAfter.map { issuedAt > $0 } ?? false
  }
}
