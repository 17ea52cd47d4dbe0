/// A strict pull reader of one JSON value in a borrowed buffer of UTF-8 bytes; builds no tree.
///
/// Each `read…` takes the next value and throws a ``JSONError`` when it isn't there, isn't of that kind or breaks the
/// grammar. Strict means: RFC 8259 to the letter, plus no byte order mark, no invalid UTF-8, no lone
/// surrogate, no key twice in an object, nothing after the value, also inside values that are skipped.
/// No input traps, and none costs more than time linear in its length.
///
/// After an error the reader is spent: whatever is asked of it then throws the first error again, so that a
/// swallowed error can't turn into a misread text. A reader lives inside ``read(_:maximumDepth:_:)-(UnsafeBufferPointer<UInt8>,_,_)``
/// and on the thread that called it.
///
/// Source: RFC 8259.
public struct JSONReader: ~Copyable {
  let base: UnsafePointer<UInt8>
  let count: Int
  var index = 0
  var start = 0
  var depthLeft: Int
  var keys = JSONKeyStack()
  @usableFromInline var scratch: [UInt8] = []
  var failure: JSONError?

  /// The largest limit of depth; what is asked above it counts as this. It bounds the stack that nesting takes.
  public static let largestDepth = 256

  /// The offset of the next unread byte, from 0; the number of bytes after an error.
  public var offset: Int { index }

  init(base: UnsafePointer<UInt8>, count: Int, maximumDepth: Int) {
    self.base = base
    self.count = count
    self.depthLeft = min(max(maximumDepth, 0), Self.largestDepth)
  }

  /// The kind of the next value, which stays unread.
  ///
  /// - Throws: ``JSONError`` when no value begins here.
  public mutating func peekKind() throws(JSONError) -> JSONKind {
    let byte = try nextByte()
    guard let kind = JSONKind(firstByte: byte) else { throw fail(.unexpectedByte) }
    return kind
  }

  /// Reads `true` or `false`.
  ///
  /// - Throws: ``JSONError`` when the next value is neither.
  public mutating func readBool() throws(JSONError) -> Bool {
    switch try nextByte() {
    case UInt8(ascii: "t"):
      try expectLiteral("true")
      return true
    case UInt8(ascii: "f"):
      try expectLiteral("false")
      return false
    default:
      throw mismatch(.bool)
    }
  }

  /// Reads `null`.
  ///
  /// - Throws: ``JSONError`` when the next value is another.
  public mutating func readNull() throws(JSONError) {
    guard try nextByte() == UInt8(ascii: "n") else { throw mismatch(.null) }
    try expectLiteral("null")
  }

  /// Reads the next value if it is `null`; otherwise answers false and leaves it unread.
  ///
  /// - Throws: ``JSONError`` when no value begins here.
  public mutating func readNullIfPresent() throws(JSONError) -> Bool {
    guard try nextByte() == UInt8(ascii: "n") else { return false }
    try expectLiteral("null")
    return true
  }

  // MARK: Shared by all kinds

  @inline(__always)
  mutating func skipWhitespace() {
    while index < count {
      switch base[index] {
      case 0x20, 0x0A, 0x0D, 0x09: index &+= 1
      default: return
      }
    }
  }

  /// The next byte that isn't white space, left unread.
  @inline(__always)
  mutating func nextByte() throws(JSONError) -> UInt8 {
    skipWhitespace()
    guard index < count else { throw fail(.unexpectedEnd) }
    return base[index]
  }

  private mutating func expectLiteral(_ literal: StaticString) throws(JSONError) {
    let length = literal.utf8CodeUnitCount
    for place in 0..<length {
      guard index &+ place < count else { throw fail(.unexpectedEnd, at: count) }
      guard base[index &+ place] == literal.utf8Start[place] else {
        throw fail(.unexpectedByte, at: index &+ place)
      }
    }
    index &+= length
  }

  /// The error for a value that isn't of the kind asked for, or isn't a value at all.
  mutating func mismatch(_ expected: JSONKind) -> JSONError {
    guard index < count, JSONKind(firstByte: base[index]) != nil else { return fail(.unexpectedByte) }
    return fail(.typeMismatch, expected: expected)
  }

  /// Spends the reader: this error, or the one that came before it, is all it says from now on.
  @inline(never)
  mutating func fail(_ code: JSONError.Code, at offset: Int? = nil, expected: JSONKind? = nil) -> JSONError {
    if let failure { return failure }
    let error = JSONError(code, offset: offset ?? index, expected: expected)
    failure = error
    index = count
    return error
  }
}
