/// A 64-bit FNV-1a hash. It detects differing content, but not forged content.
///
/// Source: Fowler, Noll and Vo; RFC 9923.
package struct Fingerprint: Hashable, Sendable {
  /// The hash so far.
  package private(set) var value: UInt64

  /// The chain of a device that has sent nothing yet.
  package static let beginning = Fingerprint(value: 0)

  /// Restores a stored fingerprint.
  package init(value: UInt64) { self.value = value }

  /// The fingerprint of the concatenated texts.
  package init(of texts: String...) {
    value = Self.offsetBasis
    for text in texts {
      var text = text
      text.withUTF8 { for byte in $0 { add(byte) } }
    }
  }

  /// Parses 16 hex digits; nil for any other text.
  package init?(_ text: String) {
    guard let word = Hexadecimal.word(utf8: text.utf8) else { return nil }
    value = word
  }

  /// The 16 hex digits of the wire.
  package var text: String { Hexadecimal.text(value) }

  /// The chain after another change set: the hash of the previous chain and the set's bytes.
  package func chained(with bytes: UnsafeBufferPointer<UInt8>) -> Fingerprint {
    var next = Fingerprint(value: Self.offsetBasis)
    for shift in stride(from: UInt64(56), through: 0, by: -8) {
      next.add(UInt8(truncatingIfNeeded: value >> shift))
    }
    for byte in bytes { next.add(byte) }
    return next
  }

  private static let offsetBasis: UInt64 = 0xcbf2_9ce4_8422_2325

  private mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
}

/// The sum of the fingerprints of a device's acks. Device and server compare many acks by its 16 digits.
package struct AckDigest: Hashable, Sendable {
  /// The sum, modulo 2^64.
  package private(set) var value: UInt64 = 0

  /// The digest of no acks.
  package init() {}

  /// Adds the ack of a zone. The empty token, the beginning of a zone, adds nothing.
  package mutating func add(zone: String, token: String) {
    if !token.isEmpty { value &+= Self.mixed(Fingerprint(of: zone, "=", token).value) }
  }

  /// Spreads every bit over all others. Otherwise tokens that differ in the last digit would differ by the FNV-1a prime, and two zones that
  /// advance together could cancel out in the sum.
  ///
  /// Source: the finalizer of MurmurHash3 by Appleby, with the constants of Stafford's variant 13.
  private static func mixed(_ value: UInt64) -> UInt64 {
    var mixed = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// The 16 hex digits of the wire.
  package var text: String { Hexadecimal.text(value) }
}
