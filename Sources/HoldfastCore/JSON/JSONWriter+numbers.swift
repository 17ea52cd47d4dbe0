extension JSONWriter {
  /// Writes an integer.
  package mutating func int64(_ value: Int64) {
    beginValue()
    reserve(20)
    if value < 0 { append(UInt8(ascii: "-")) }
    var rest = value.magnitude
    var digits = 1
    var bound: UInt64 = 10
    while digits < 19, rest >= bound {
      bound &*= 10
      digits &+= 1
    }
    var place = count &+ digits
    count = place
    repeat {
      let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
      place &-= 1
      storage[place] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: digit)
      rest = quotient
    } while rest > 0
  }

  /// Writes a double with the fewest digits that parse to the same double: `1.0`, `0.1`, `1e+16`.
  ///
  /// JSON has no infinity and no NaN: writing one traps. Use ``doubleOrNull(_:)`` for values from untrusted sources.
  package mutating func double(_ value: Double) {
    precondition(value.isFinite, "JSON has no infinity and no NaN")
    beginValue()
    // Minus zero is written as 0, because SQLite does not store it in numeric columns.
    var text = (value == 0 ? 0 : value).description
    text.withUTF8 { if let start = $0.baseAddress { append(start, $0.count) } }
  }

  /// Writes a double like ``double(_:)``, or null if it is infinite or not a number.
  package mutating func doubleOrNull(_ value: Double) {
    if value.isFinite { double(value) } else { null() }
  }
}
