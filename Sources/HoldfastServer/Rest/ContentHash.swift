internal import CSodium
import HoldfastHTTP

/// A hash for which nobody finds two contents: BLAKE2b, 32 bytes.
func contentHash(_ bytes: [UInt8]) -> [UInt8] {
  [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
    if let hash = buffer.baseAddress {
      _ = crypto_generichash(hash, 32, bytes, UInt64(bytes.count), nil, 0)
    }
    count = 32
  }
}

/// The hash of what makes a request the same: its method, its target and its content.
func requestFingerprint(_ request: HTTPRequest) -> [UInt8] {
  // Hashes have one length, so that nothing of one part can pass for a part of another.
  contentHash(
    contentHash(Array(request.method.utf8)) + contentHash(Array(request.target.utf8))
      + contentHash(request.body))
}
