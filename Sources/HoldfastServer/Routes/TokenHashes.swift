import HoldfastConcurrency
import HoldfastCore
import HoldfastService

/// The hashes of tokens that were sent lately. Each request of a client has the same token, and asks for its hash several times.
///
/// @unchecked Sendable: accessed only with the lock held.
final class TokenHashes: @unchecked Sendable {
  private static let limit = 4096
  /// The size in bytes from which a token is not kept. Those of the server are shorter.
  private static let longest = 64

  private let lock = Lock()
  private var hashes: TextMap<TokenHash> = [:]

  /// The hash of a token in its wire form.
  subscript(token: Substring) -> TokenHash {
    if token.utf8.count > Self.longest { return TokenHash(of: token) }
    let text = String(token)
    if let known = lock.hold({ hashes[text] }) { return known }
    let hash = TokenHash(of: text)
    lock.hold {
      if hashes.count >= Self.limit { hashes.removeAll(keepingCapacity: true) }
      hashes[text] = hash
    }
    return hash
  }
}
