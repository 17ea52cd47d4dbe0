/// A parser state in the extensions of a chunk: RFC 9112, section 7.1.1. Extensions are validated, because another parser might end the
/// line elsewhere, and then ignored.
enum ChunkExtension {
  /// After a size or value and white space; another extension must follow.
  case end
  /// After the semicolon.
  case nameStart
  case name
  /// After a name and white space.
  case nameEnd
  /// After the equals sign.
  case valueStart
  case token
  case quoted
  /// After a backslash.
  case escaped
  /// After the closing quotation mark.
  case quotedEnd

  /// Whether the line may end in this state.
  var mayEnd: Bool { self == .name || self == .token || self == .quotedEnd }

  /// The state after the next byte.
  func next(_ byte: UInt8) throws(Refusal) -> ChunkExtension {
    let isSpace = byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    let isToken = isTokenByte(byte)
    switch (self, byte) {
    case (.quoted, UInt8(ascii: "\"")): return .quotedEnd
    case (.quoted, UInt8(ascii: "\\")): return .escaped
    case (.quoted, _), (.escaped, _):
      guard isSpace || (0x21...0x7E).contains(byte) || byte >= 0x80 else { throw .malformed }
      return .quoted
    case (.nameStart, _) where isSpace, (.valueStart, _) where isSpace: return self
    case (.nameStart, _) where isToken, (.name, _) where isToken: return .name
    case (.valueStart, UInt8(ascii: "\"")): return .quoted
    case (.valueStart, _) where isToken, (.token, _) where isToken: return .token
    case (.name, UInt8(ascii: "=")), (.nameEnd, UInt8(ascii: "=")): return .valueStart
    case (.name, _) where isSpace, (.nameEnd, _) where isSpace: return .nameEnd
    case (.end, _) where isSpace, (.token, _) where isSpace, (.quotedEnd, _) where isSpace: return .end
    case (.end, UInt8(ascii: ";")), (.name, UInt8(ascii: ";")), (.nameEnd, UInt8(ascii: ";")),
      (.token, UInt8(ascii: ";")), (.quotedEnd, UInt8(ascii: ";")):
      return .nameStart
    default: throw .malformed
    }
  }
}
