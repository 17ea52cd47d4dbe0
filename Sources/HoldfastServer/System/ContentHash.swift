internal import CSodium
import HoldfastService

/// The SHA-256 of a content, by libsodium, which is faster than that of HoldfastCore.
struct ContentHash: Sendable, Hashable {
  /// The 32 bytes.
  let bytes: [UInt8]

  /// 64 hex digits.
  var text: String { hexadecimal(bytes) }

  /// The hash of several contents, each with its length before it, so that no two lists have the same.
  init(of parts: [[UInt8]]) {
    var state = crypto_hash_sha256_state()
    crypto_hash_sha256_init(&state)
    for part in parts {
      let length = Array("\(part.count):".utf8)
      crypto_hash_sha256_update(&state, length, UInt64(length.count))
      crypto_hash_sha256_update(&state, part, UInt64(part.count))
    }
    bytes = Self.end(&state)
  }

  /// The hash of a content in pieces, of which an empty one is the end.
  ///
  /// - Parameter next: gives the piece that begins at an offset.
  init(pieces next: (_ offset: Int64) -> [UInt8]) {
    var state = crypto_hash_sha256_state()
    crypto_hash_sha256_init(&state)
    var offset: Int64 = 0
    while true {
      let bytes = next(offset)
      if bytes.isEmpty { break }
      crypto_hash_sha256_update(&state, bytes, UInt64(bytes.count))
      offset += Int64(bytes.count)
    }
    bytes = Self.end(&state)
  }

  /// Reads 64 hex digits; nil when the text is something else.
  init?(_ text: some StringProtocol) {
    let digits = Array(text.utf8)
    guard digits.count == 64 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: 64, by: 2) {
      guard let byte = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16),
        digits[index] != UInt8(ascii: "+"), digits[index] != UInt8(ascii: "-")
      else { return nil }
      bytes.append(byte)
    }
    self.bytes = bytes
  }

  private static func end(_ state: inout crypto_hash_sha256_state) -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: 32)
    crypto_hash_sha256_final(&state, &hash)
    return hash
  }
}
