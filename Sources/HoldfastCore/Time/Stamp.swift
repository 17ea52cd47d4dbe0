/// A hybrid logical clock value: the time of an edit. Causally related edits are always in order.
///
/// It has 48 bits of milliseconds since 1970, then a 16-bit counter. On the wire it is 16 lower-case hex digits, whose order is that of the
/// stamps. Source: Kulkarni and others, "Logical Physical Clocks", 2014.
package struct Stamp: Hashable, Comparable, Sendable {
  /// The value as one integer: milliseconds shifted left by 16, plus the counter.
  package let rawValue: Int64

  /// Creates a stamp of a raw value; a negative one becomes zero.
  package init(rawValue: Int64) { self.rawValue = max(0, rawValue) }

  /// The first stamp of a millisecond since 1970, limited to 47 bits.
  package init(milliseconds: Int64) { rawValue = min(max(0, milliseconds), 1 << 47 - 1) << 16 }

  /// Parses 16 hex digits; nil for any other text.
  package init?(_ text: some StringProtocol) { self.init(utf8: text.utf8) }

  /// The same for UTF-8 bytes.
  package init?(utf8 bytes: some Collection<UInt8>) {
    guard let word = Hexadecimal.word(utf8: bytes), word <= UInt64(Int64.max) else { return nil }
    rawValue = Int64(word)
  }

  /// The earliest stamp.
  package static let zero = Stamp(rawValue: 0)

  /// Milliseconds since 1970.
  package var milliseconds: Int64 { rawValue >> 16 }

  /// The 16 hex digits of the wire.
  package var text: String { Hexadecimal.text(UInt64(rawValue)) }

  /// The next stamp of a clock at this one, if the wall clock shows `milliseconds`.
  package func next(milliseconds: Int64) -> Stamp {
    max(Stamp(rawValue: rawValue == .max ? rawValue : rawValue + 1), Stamp(milliseconds: milliseconds))
  }

  /// Whether `left` is earlier.
  package static func < (left: Stamp, right: Stamp) -> Bool { left.rawValue < right.rawValue }
}
