/// The bytes of a string between the quotes, validated, with escapes unresolved.
struct JSONStringSlice {
  let start: Int
  let end: Int
  let hasEscapes: Bool
}

extension JSONReader {
  /// Reads a string.
  ///
  /// - Throws: ``JSONError`` when the next value isn't a string, or breaks a rule.
  package mutating func readString() throws(JSONError) -> String {
    try stringValue { String(decoding: $0, as: UTF8.self) }
  }

  /// Reads a string and passes its UTF-8 bytes, with escapes resolved, to `body`. Without escapes they are in the input buffer itself.
  ///
  /// - Parameter body: receives the bytes, which are valid until it returns.
  /// - Returns: the result of `body`.
  /// - Throws: ``JSONError`` if the next value is no string or is invalid; otherwise the error of `body`.
  package mutating func readStringBytes<Result>(
    _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
  ) throws -> Result {
    if let plain = try plainStringBytes() { return try body(plain) }
    return try scratch.withUnsafeBufferPointer { try body($0) }
  }

  /// Consumes a string. Returns its bytes if it has no escapes; otherwise returns nil and puts the unescaped bytes into `scratch`.
  mutating func plainStringBytes() throws(JSONError) -> UnsafeBufferPointer<UInt8>? {
    guard try nextByte() == UInt8(ascii: "\"") else { throw mismatch(.string) }
    let slice = try scanString()
    if slice.hasEscapes {
      unescape(slice)
      return nil
    }
    return UnsafeBufferPointer(start: base + slice.start, count: slice.end &- slice.start)
  }

  private mutating func stringValue(
    _ make: (UnsafeBufferPointer<UInt8>) -> String
  ) throws(JSONError) -> String {
    if let plain = try plainStringBytes() { return make(plain) }
    return scratch.withUnsafeBufferPointer { make($0) }
  }

  mutating func key(from slice: JSONStringSlice) -> JSONKey {
    guard slice.hasEscapes else { return JSONKey(start: base + slice.start, count: slice.end &- slice.start) }
    unescape(slice)
    return keys.own(scratch)
  }

  /// Validates and consumes the string that begins with the next byte.
  mutating func scanString() throws(JSONError) -> JSONStringSlice {
    let start = index &+ 1
    var place = start
    var hasEscapes = false
    while place &+ 32 <= count, isPlainForReading(loadWords(base + place)) { place &+= 32 }
    while true {
      while place &+ 8 <= count {
        let marks = marksForReading(loadWord(base + place))
        if marks != 0 {
          place &+= marks.trailingZeroBitCount >> 3
          break
        }
        place &+= 8
      }
      guard place < count else { throw fail(.unexpectedEnd, at: count) }
      let byte = base[place]
      if byte == UInt8(ascii: "\"") {
        index = place &+ 1
        return JSONStringSlice(start: start, end: place, hasEscapes: hasEscapes)
      } else if byte == UInt8(ascii: "\\") {
        hasEscapes = true
        place = try endOfEscape(at: place)
      } else if byte < 0x20 {
        throw fail(.controlCharacter, at: place)
      } else if byte < 0x80 {
        place &+= 1
      } else {
        let length = lengthOfSequence(base, at: place, count: count)
        if length == 0 { throw fail(.invalidUTF8, at: place) }
        place &+= length
      }
    }
  }

  /// Validates the escape whose backslash is at `place`, and returns its end.
  private mutating func endOfEscape(at place: Int) throws(JSONError) -> Int {
    guard place &+ 1 < count else { throw fail(.unexpectedEnd, at: count) }
    switch base[place &+ 1] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      return place &+ 2
    case UInt8(ascii: "u"):
      let unit = try codeUnit(at: place)
      guard unit & 0xF800 == 0xD800 else { return place &+ 6 }
      guard unit < 0xDC00 else { throw fail(.loneSurrogate, at: place) }
      let next = place &+ 6
      guard next &+ 1 < count, base[next] == UInt8(ascii: "\\"), base[next &+ 1] == UInt8(ascii: "u"),
        try codeUnit(at: next) & 0xFC00 == 0xDC00
      else { throw fail(.loneSurrogate, at: place) }
      return place &+ 12
    default:
      throw fail(.invalidEscape, at: place)
    }
  }

  /// The four hexadecimal digits of the `\u` escape whose backslash is at `place`.
  private mutating func codeUnit(at place: Int) throws(JSONError) -> UInt32 {
    guard place &+ 6 <= count else { throw fail(.unexpectedEnd, at: count) }
    var unit: UInt32 = 0
    for digit in place &+ 2..<place &+ 6 {
      guard let value = hexadecimalValue(base[digit]) else { throw fail(.invalidEscape, at: place) }
      unit = unit << 4 | value
    }
    return unit
  }
}

/// The value of one hexadecimal digit in ASCII.
@inline(__always)
func hexadecimalValue(_ byte: UInt8) -> UInt32? {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte &- UInt8(ascii: "0"))
  case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte &- UInt8(ascii: "a") &+ 10)
  case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte &- UInt8(ascii: "A") &+ 10)
  default: nil
  }
}

extension JSONReader {
  /// Resolves the escapes of a validated string into `scratch`.
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

  /// Appends the character of one `\u` escape or a pair of them, and returns the end.
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
