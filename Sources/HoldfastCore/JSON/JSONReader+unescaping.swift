extension JSONReader {
  /// Puts the bytes of a checked string into `scratch`, its escapes resolved.
  mutating func unescape(_ slice: JSONStringSlice) {
    scratch.removeAll(keepingCapacity: true)
    scratch.reserveCapacity(slice.end &- slice.start)
    var place = slice.start
    while place < slice.end {
      var end = place
      while end < slice.end, base[end] != UInt8(ascii: "\\") { end &+= 1 }
      scratch.append(contentsOf: UnsafeBufferPointer(start: base + place, count: end &- place))
      guard end &+ 1 < slice.end else { return }
      place = end &+ 2
      switch base[end &+ 1] {
      case UInt8(ascii: "b"): scratch.append(0x08)
      case UInt8(ascii: "f"): scratch.append(0x0C)
      case UInt8(ascii: "n"): scratch.append(0x0A)
      case UInt8(ascii: "r"): scratch.append(0x0D)
      case UInt8(ascii: "t"): scratch.append(0x09)
      case UInt8(ascii: "u"): place = unescapeCodeUnits(at: end, before: slice.end)
      case let other: scratch.append(other)
      }
    }
  }

  /// Appends the character of one `\u` escape or a pair of them; answers where it ends.
  private mutating func unescapeCodeUnits(at place: Int, before end: Int) -> Int {
    var next = place &+ 6
    var scalar = checkedCodeUnit(at: place, before: end)
    if scalar & 0xFC00 == 0xD800 {
      scalar = 0x10000 + (scalar & 0x3FF) << 10 + checkedCodeUnit(at: next, before: end) & 0x3FF
      next &+= 6
    }
    scratch.append(
      contentsOf: UTF8.encode(Unicode.Scalar(scalar) ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter)
    return next
  }

  private func checkedCodeUnit(at place: Int, before end: Int) -> UInt32 {
    guard place &+ 6 <= end else { return 0xFFFD }
    return (place &+ 2..<place &+ 6).reduce(0) { $0 << 4 | (hexadecimalValue(base[$1]) ?? 0) }
  }
}
