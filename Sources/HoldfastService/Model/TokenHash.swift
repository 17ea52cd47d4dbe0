import HoldfastCore

/// The SHA-256 hash of a token. The server stores only the hash, so that a reader of the database cannot sign in.
///
/// Tokens are looked up by their hash. The duration of a look-up reveals nothing about a token, because a token for a given hash cannot be
/// constructed.
package struct TokenHash: Sendable, Hashable {
  private let words: SIMD4<UInt64>

  /// Hashes a token in its wire form.
  package init(of token: some StringProtocol) {
    var (token, hash) = (String(token), SHA256())
    token.withUTF8 { hash.add(UnsafeRawBufferPointer($0)) }
    self.init(hash.hash())
  }

  /// A keyed hash (HMAC-SHA256) for the device of an identity at a client, whose tokens are JWTs. It equals no token's hash, because those
  /// use no key.
  package init(of identity: Identity, client: String) {
    let parts = [identity.issuer, identity.subject, client].flatMap { part in
      [withUnsafeBytes(of: UInt64(part.utf8.count).bigEndian) { Array($0) }, Array(part.utf8)]
    }
    self.init(MessageCode(key: Array("holdfast: the device of a JWT".utf8)).code(of: parts))
  }

  /// A stored hash; nil if it has another length than a hash.
  package init?(bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    self.init(bytes)
  }

  private init(_ hash: [UInt8]) {
    words = hash.withUnsafeBytes { $0.loadUnaligned(as: SIMD4<UInt64>.self) }
  }

  /// Lends the bytes of the hash.
  package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try withUnsafeBytes(of: words, body)
  }
}

/// A new token: 32 random bytes in base64url (RFC 4648, section 5), without padding.
package func makeToken(random: (Int) -> [UInt8]) -> String { Base64.urlText(random(32)) }
