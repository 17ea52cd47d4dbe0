/// Random words for ids. It takes twice as many bytes each time, as each time is a call of the system.
package struct RandomWords {
  private static let most = 1024

  private let random: (Int) -> [UInt8]
  private var bytes: [UInt8] = []
  private var used = 0

  /// - Parameter random: returns random bytes.
  package init(_ random: @escaping (Int) -> [UInt8]) { self.random = random }

  /// Two words.
  package mutating func pair() -> (UInt64, UInt64) {
    if used == bytes.count { (bytes, used) = (random(min(max(16, 2 * bytes.count), Self.most)), 0) }
    defer { used += 16 }
    return bytes.withUnsafeBytes {
      (
        $0.loadUnaligned(fromByteOffset: used, as: UInt64.self),
        $0.loadUnaligned(fromByteOffset: used + 8, as: UInt64.self)
      )
    }
  }
}
