extension Position {
  /// The author of positions: six random characters that each device draws once, and again if it loses them.
  ///
  /// Positions of two replicas with the same name may interleave, but their order is the same on all devices. With 10,000 devices in one
  /// zone the probability that any two share a name is about 1 in 1,100.
  public struct Replica: Hashable, Sendable {
    /// The number of characters in a replica's name.
    public static let length = 6

    let bytes: [UInt8]

    /// The six characters.
    public var string: String { String(decoding: bytes, as: UTF8.self) }

    /// Restores a stored name; nil unless it has six characters of 0-9, A-Z, a-z.
    public init?(_ name: String) {
      let bytes = Array(name.utf8)
      guard bytes.count == Self.length, bytes.allSatisfy({ PositionDigits.value($0) != nil }) else {
        return nil
      }
      self.bytes = bytes
    }

    /// Makes a name from random bits.
    ///
    /// - Parameter random: 64 random bits.
    public init(random: UInt64) {
      bytes = PositionDigits.bytes(random, count: Self.length)
    }
  }
}
