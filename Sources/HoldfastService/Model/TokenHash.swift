internal import CSodium

/// What the server keeps of a token: its BLAKE2b hash, so that who reads the database can't sign in.
///
/// Tokens are found by their hash. How long that takes tells nothing about a token, as nobody can make one for a
/// given hash.
package struct TokenHash: Sendable, Hashable {
  private let words: SIMD4<UInt64>

  /// Hashes a token as it is on the wire.
  package init(of token: some StringProtocol) {
    var text = String(token)
    words = text.withUTF8 { Self.hash($0, key: []) }
  }

  /// The hash of no token: that of the device of an identity at a client, which JWTs stand for. It is made with a key, as no text's is.
  package init(of identity: Identity, client: String) {
    let parts = [identity.issuer, identity.subject, client].flatMap { part in
      withUnsafeBytes(of: UInt64(part.utf8.count).bigEndian) { Array($0) } + Array(part.utf8)
    }
    let key = Array("holdfast: the device of a JWT".utf8)
    words = parts.withUnsafeBufferPointer { Self.hash($0, key: key) }
  }

  private static func hash(_ text: UnsafeBufferPointer<UInt8>, key: [UInt8]) -> SIMD4<UInt64> {
    var words = SIMD4<UInt64>.zero
    withUnsafeMutableBytes(of: &words) { bytes in
      if let hash = bytes.baseAddress {
        _ = crypto_generichash(hash, bytes.count, text.baseAddress, UInt64(text.count), key, key.count)
      }
    }
    return words
  }

  /// Lends the hash.
  package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try withUnsafeBytes(of: words, body)
  }
}

/// A new token: 32 random bytes in base64url (RFC 4648, section 5), without padding.
package func makeToken(random: (Int) -> [UInt8]) -> String { Base64.urlText(random(32)) }
