import HoldfastDigest
import HoldfastService

/// The SHA-256 hash of a content.
struct ContentHash: Sendable, Hashable {
  /// The 32 bytes.
  let bytes: [UInt8]

  /// 64 hex digits.
  var text: String { hexadecimal(bytes) }

  /// The hash of several contents, each prefixed with its length, so that different lists have different hashes.
  init(of parts: [[UInt8]]) {
    let digest = ContentDigest()
    for part in parts {
      digest.add(Array("\(part.count):".utf8))
      digest.add(part)
    }
    bytes = digest.finish()
  }

  /// The hash of a content in pieces. An empty piece is the end.
  ///
  /// - Parameter next: returns the piece at an offset.
  init(pieces next: (_ offset: Int64) -> [UInt8]) {
    let digest = ContentDigest()
    var offset: Int64 = 0
    while true {
      let bytes = next(offset)
      if bytes.isEmpty { break }
      digest.add(bytes)
      offset += Int64(bytes.count)
    }
    bytes = digest.finish()
  }

  /// Parses 64 hex digits; nil for other texts.
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
}
