/// Texts split into tokens: words, runs of white space, and other scalars one by one. Tokens with equal bytes have equal numbers.
struct TextTokens {
  /// The kind of a token.
  private enum Kind {
    case word, space, single
  }

  /// The range of a token in the bytes of all texts.
  struct Token {
    let start: Int
    let end: Int
    /// The number shared by all tokens with the same bytes.
    let number: Int32
    let isWord: Bool
    /// Whether it would combine with the preceding character. Possible only for the first token of a text.
    let startsAttached: Bool
    /// Whether it would combine with the following character. Possible only for the last token of a text.
    let endsJoining: Bool
  }

  /// The concatenated bytes of the texts.
  let bytes: [UInt8]
  /// The tokens of each text.
  let texts: [[Token]]

  init(_ texts: [String]) {
    let bytes = texts.flatMap { Array($0.utf8) }
    self.bytes = bytes
    self.texts = bytes.withUnsafeBytes { bytes in
      var numbers: [Bytes: Int32] = [:]
      var start = 0
      return texts.map { text in
        let tokens = Self.cut(text, from: start, bytes, &numbers)
        start += text.utf8.count
        return tokens
      }
    }
  }

  private static func cut(
    _ text: String, from offset: Int, _ bytes: UnsafeRawBufferPointer, _ numbers: inout [Bytes: Int32]
  ) -> [Token] {
    var tokens: [Token] = []
    var (start, end) = (offset, offset)
    var kind = Kind.single
    func finish() {
      if start == end { return }
      let key = Bytes(bytes: UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
      let next = Int32(truncatingIfNeeded: numbers.count)
      let number = numbers[key] ?? next
      if number == next { numbers[key] = next }
      tokens.append(
        Token(
          start: start, end: end, number: number, isWord: kind == .word,
          startsAttached: tokens.isEmpty && startsAttached, endsJoining: joinsNext))
      start = end
    }
    var joinsNext = false
    let startsAttached = text.unicodeScalars.first.map { $0 == "\u{200D}" || extends($0) } ?? false
    for scalar in text.unicodeScalars {
      let isJoiner = scalar == "\u{200D}"
      // A grapheme cluster is never split.
      let isAttached = start < end && (joinsNext || isJoiner || extends(scalar))
      if !isAttached {
        let next = self.kind(of: scalar)
        if next != kind || next == .single { finish() }
        kind = next
      }
      joinsNext = isJoiner
      end += UTF8.width(scalar)
    }
    finish()
    return tokens
  }

  private static func kind(of scalar: Unicode.Scalar) -> Kind {
    if scalar.isASCII {
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", "_": return .word
      case " ", "\t", "\n", "\r", "\u{B}", "\u{C}": return .space
      default: return .single
      }
    }
    let properties = scalar.properties
    if properties.isWhitespace { return .space }
    // Scripts written without spaces: otherwise a whole sentence would be one word.
    if properties.isIdeographic || (0x3040...0x30FF).contains(scalar.value) { return .single }
    return properties.isAlphabetic || properties.numericType != nil ? .word : .single
  }

  private static func extends(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.value < 0x300 { return false }
    return scalar.properties.isGraphemeExtend || scalar.properties.isEmojiModifier
  }

  /// Bytes as a dictionary key, valid during the lifetime of their buffer.
  private struct Bytes: Hashable {
    let bytes: UnsafeRawBufferPointer

    static func == (left: Bytes, right: Bytes) -> Bool {
      left.bytes.count == right.bytes.count && left.bytes.elementsEqual(right.bytes)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(bytes: bytes) }
  }
}
