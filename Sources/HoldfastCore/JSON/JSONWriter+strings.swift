extension JSONWriter {
  /// Writes a string.
  package mutating func string(_ value: String) {
    beginValue()
    var value = value
    value.withUTF8 { appendQuoted($0) }
  }

  /// Writes a string from bytes of a text column. Invalid UTF-8 becomes U+FFFD: SQLite stores any bytes as text, but the wire requires
  /// valid UTF-8.
  package mutating func string(utf8 bytes: UnsafeBufferPointer<UInt8>) {
    beginValue()
    guard let source = bytes.baseAddress else { return appendQuoted(bytes) }
    let beginning = count
    beginQuoted(bytes.count)
    let plain = appendPlain(source, bytes.count)
    if plain == bytes.count { return append(UInt8(ascii: "\"")) }
    if isWellFormedUTF8(UnsafeBufferPointer(rebasing: bytes[plain...])) {
      return appendRest(source, from: plain, bytes.count)
    }
    count = beginning
    var valid = String(decoding: bytes, as: UTF8.self)
    valid.withUTF8 { appendQuoted($0) }
  }

  private mutating func appendQuoted(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let start = bytes.baseAddress else {
      append(UInt8(ascii: "\""))
      append(UInt8(ascii: "\""))
      return
    }
    appendQuoted(start, bytes.count)
  }

  mutating func appendQuoted(_ source: UnsafePointer<UInt8>, _ length: Int) {
    beginQuoted(length)
    appendRest(source, from: 0, length)
  }

  private mutating func beginQuoted(_ length: Int) {
    reserve(length &+ 34)
    storage[count] = UInt8(ascii: "\"")
    count &+= 1
  }

  /// Copies the beginning of a text, 32 bytes at a time, as long as they are ASCII of which nothing is escaped. The last 32 bytes may
  /// overlap those before.
  ///
  /// - Returns: how many bytes that were.
  private mutating func appendPlain(_ source: UnsafePointer<UInt8>, _ length: Int) -> Int {
    guard length >= 32 else { return 0 }
    let start = UnsafeMutableRawPointer(storage + count)
    var place = 0
    while place < length {
      let next = min(place, length &- 32)
      let words = loadWords(source + next)
      guard isPlainForReading(words) else { break }
      (start + next).storeBytes(of: words, as: SIMD4<UInt64>.self)
      place = next &+ 32
    }
    count &+= place
    return place
  }

  /// Copies and escapes the rest of a text in one pass, 32 bytes at a time up to the first that is escaped, then eight.
  private mutating func appendRest(_ source: UnsafePointer<UInt8>, from start: Int, _ length: Int) {
    var out = count
    var place = start
    while place &+ 32 <= length {
      let words = loadWords(source + place)
      UnsafeMutableRawPointer(storage + out).storeBytes(of: words, as: SIMD4<UInt64>.self)
      guard isPlainForWriting(words) else { break }
      place &+= 32
      out &+= 32
    }
    while place < length {
      if place &+ 8 <= length {
        let word = loadWord(source + place)
        UnsafeMutableRawPointer(storage + out).storeBytes(of: word.littleEndian, as: UInt64.self)
        let marks = marksForWriting(word)
        let clean = marks == 0 ? 8 : marks.trailingZeroBitCount >> 3
        place &+= clean
        out &+= clean
        if marks == 0 { continue }
      }
      let byte = source[place]
      place &+= 1
      if byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
        storage[out] = byte
        out &+= 1
      } else {
        count = out
        reserve(length &- place &+ 16)
        appendEscape(of: byte)
        out = count
      }
    }
    storage[out] = UInt8(ascii: "\"")
    count = out &+ 1
  }

  private mutating func appendEscape(of byte: UInt8) {
    append(UInt8(ascii: "\\"))
    switch byte {
    case 0x08: append(UInt8(ascii: "b"))
    case 0x09: append(UInt8(ascii: "t"))
    case 0x0A: append(UInt8(ascii: "n"))
    case 0x0C: append(UInt8(ascii: "f"))
    case 0x0D: append(UInt8(ascii: "r"))
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): append(byte)
    default:
      append(UInt8(ascii: "u"))
      append(UInt8(ascii: "0"))
      append(UInt8(ascii: "0"))
      append(hexadecimalDigit(byte >> 4))
      append(hexadecimalDigit(byte & 0xF))
    }
  }

  private func hexadecimalDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") &+ value : UInt8(ascii: "a") &+ value &- 10
  }
}
