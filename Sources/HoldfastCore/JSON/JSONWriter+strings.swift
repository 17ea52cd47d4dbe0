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
    if isWellFormedUTF8(bytes) {
      beginValue()
      appendQuoted(bytes)
    } else {
      string(String(decoding: bytes, as: UTF8.self))
    }
  }

  private mutating func appendQuoted(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let start = bytes.baseAddress else {
      append(UInt8(ascii: "\""))
      append(UInt8(ascii: "\""))
      return
    }
    appendQuoted(start, bytes.count)
  }

  /// Copies and escapes in one pass, 32 bytes at a time up to the first that is escaped, then eight.
  mutating func appendQuoted(_ source: UnsafePointer<UInt8>, _ length: Int) {
    reserve(length &+ 34)
    var out = count
    storage[out] = UInt8(ascii: "\"")
    out &+= 1
    var place = 0
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
