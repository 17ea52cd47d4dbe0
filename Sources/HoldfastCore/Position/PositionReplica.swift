extension Position {
  /// Who makes positions: six characters, drawn at random once by each device (and again by one that lost them).
  ///
  /// Two replicas that share a name get positions that may interleave, never an order that differs between devices. With 10,000
  /// devices in one zone the odds that any two share one are about 1 in 1,100.
  public struct Replica: Hashable, Sendable {
    /// How many characters a replica's name has.
    public static let length = 6

    let bytes: [UInt8]

    /// The six characters.
    public var string: String { String(decoding: bytes, as: UTF8.self) }

    /// Takes a name that was made before; nil unless it is six of 0-9, A-Z, a-z.
    public init?(_ name: String) {
      let bytes = Array(name.utf8)
      guard bytes.count == Self.length, bytes.allSatisfy({ PositionDigits.value($0) != nil }) else {
        return nil
      }
      self.bytes = bytes
    }

    /// Makes a name from the caller's randomness.
    ///
    /// - Parameter random: 64 random bits.
    public init(random: UInt64) {
      bytes = PositionDigits.bytes(random, count: Self.length)
    }
  }
}
