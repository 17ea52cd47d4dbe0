// Eight bytes at a time, of longer texts 32: the tricks are those of "Bit Twiddling Hacks" (S. E. Anderson), "haszero" and "hasless".

/// Loads eight bytes, the first in the low bits.
@inline(__always)
func loadWord(_ start: UnsafePointer<UInt8>) -> UInt64 {
  UInt64(littleEndian: UnsafeRawPointer(start).loadUnaligned(as: UInt64.self))
}

/// Loads 32 bytes.
@inline(__always)
func loadWords(_ start: UnsafePointer<UInt8>) -> SIMD4<UInt64> {
  UnsafeRawPointer(start).loadUnaligned(as: SIMD4<UInt64>.self)
}

/// Marks, with the high bit, the bytes of a word that end a plain ASCII run of a JSON string: quote,
/// backslash, control characters and everything from 0x80. Only the lowest mark is exact.
@inline(__always)
func marksForReading(_ word: UInt64) -> UInt64 {
  let ones: UInt64 = 0x0101_0101_0101_0101
  let quote = (word ^ (ones &* 0x22)) &- ones
  let backslash = (word ^ (ones &* 0x5C)) &- ones
  let control = word &- (ones &* 0x20)
  return (quote | backslash | control | word) & (ones &* 0x80)
}

/// Marks, with the high bit, the bytes of a word that a JSON string must escape. Only the lowest mark is exact.
@inline(__always)
func marksForWriting(_ word: UInt64) -> UInt64 {
  let ones: UInt64 = 0x0101_0101_0101_0101
  let quote = (word ^ (ones &* 0x22)) &- ones
  let backslash = (word ^ (ones &* 0x5C)) &- ones
  let control = word &- (ones &* 0x20)
  return (quote | backslash | control) & ~word & (ones &* 0x80)
}

/// Whether none of 32 bytes ends a plain ASCII run of a JSON string.
@inline(__always)
func isPlainForReading(_ words: SIMD4<UInt64>) -> Bool { hasNoHighBit(specials(words) | words) }

/// Whether a JSON string must escape none of 32 bytes.
@inline(__always)
func isPlainForWriting(_ words: SIMD4<UInt64>) -> Bool { hasNoHighBit(specials(words) & ~words) }

/// Quotes, backslashes and control characters have the high bit afterwards; some bytes from 0x80 too.
@inline(__always)
private func specials(_ words: SIMD4<UInt64>) -> SIMD4<UInt64> {
  let ones = SIMD4<UInt64>(repeating: 0x0101_0101_0101_0101)
  let quote = (words ^ (ones &* 0x22)) &- ones
  let backslash = (words ^ (ones &* 0x5C)) &- ones
  let control = words &- (ones &* 0x20)
  return quote | backslash | control
}

@inline(__always)
private func hasNoHighBit(_ words: SIMD4<UInt64>) -> Bool {
  (words[0] | words[1] | words[2] | words[3]) & 0x8080_8080_8080_8080 == 0
}

/// Whether `count` bytes at both places are the same.
@inline(__always)
func equalBytes(_ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>, _ count: Int) -> Bool {
  var index = 0
  while index &+ 8 <= count {
    if loadWord(left + index) != loadWord(right + index) { return false }
    index &+= 8
  }
  while index < count {
    if left[index] != right[index] { return false }
    index &+= 1
  }
  return true
}

/// The length of the well-formed sequence that begins with the non-ASCII byte at `index`, or 0.
///
/// Source: the Unicode Standard, table 3-7, well-formed UTF-8 byte sequences.
func lengthOfSequence(_ base: UnsafePointer<UInt8>, at index: Int, count: Int) -> Int {
  let length: Int
  var low: UInt8 = 0x80
  var high: UInt8 = 0xBF
  switch base[index] {
  case 0xC2...0xDF: length = 2
  case 0xE0: (length, low) = (3, 0xA0)
  case 0xED: (length, high) = (3, 0x9F)
  case 0xE1...0xEF: length = 3
  case 0xF0: (length, low) = (4, 0x90)
  case 0xF1...0xF3: length = 4
  case 0xF4: (length, high) = (4, 0x8F)
  default: return 0
  }
  guard count &- index >= length else { return 0 }
  let second = base[index &+ 1]
  guard second >= low, second <= high else { return 0 }
  for place in 2..<max(length, 2) where base[index &+ place] & 0xC0 != 0x80 { return 0 }
  return length
}

/// Whether all of `bytes` is well-formed UTF-8.
func isWellFormedUTF8(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
  guard let base = bytes.baseAddress else { return true }
  let count = bytes.count
  var index = 0
  while index &+ 32 <= count, hasNoHighBit(loadWords(base + index)) { index &+= 32 }
  while index < count {
    if index &+ 8 <= count, loadWord(base + index) & 0x8080_8080_8080_8080 == 0 {
      index &+= 8
    } else if base[index] < 0x80 {
      index &+= 1
    } else {
      let length = lengthOfSequence(base, at: index, count: count)
      if length == 0 { return false }
      index &+= length
    }
  }
  return true
}
