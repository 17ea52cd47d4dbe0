import HoldfastCore

/// Authenticates messages with a key: HMAC-SHA256. Source: RFC 2104.
package struct MessageCode: Sendable {
  static let size = 32

  /// Both hashes, each after its block with the key.
  private let inner: SHA256
  private let outer: SHA256

  /// - Parameter key: at most 64 bytes.
  package init(key: [UInt8]) {
    var (inner, outer) = (SHA256(), SHA256())
    let block = key + [UInt8](repeating: 0, count: 64 - key.count)
    inner.add(block.map { $0 ^ 0x36 })
    outer.add(block.map { $0 ^ 0x5C })
    (self.inner, self.outer) = (inner, outer)
  }

  /// The code of a message in parts.
  package func code(of parts: [[UInt8]]) -> [UInt8] {
    var (inner, outer) = (inner, outer)
    for part in parts { inner.add(part) }
    outer.add(inner.hash())
    return outer.hash()
  }

  /// Whether two codes are the same, in a time that does not tell how much of them is.
  package static func isSame(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.count == other.count && zip(one, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
