/// A strict pull parser of one JSON value in a borrowed UTF-8 buffer. It builds no tree.
///
/// Each `read…` consumes the next value. It throws a ``JSONError`` if the value is missing, of another kind, or invalid. Strict means RFC
/// 8259 without extensions, and also: no byte order mark, no invalid UTF-8, no lone surrogate, no duplicate key in an object, nothing after
/// the value. Skipped values are checked too. No input traps, and every input takes linear time.
///
/// After an error, every further call throws the first error again, so that a swallowed error can't cause a misread text. A reader is valid
/// inside ``read(_:maximumDepth:_:)-(UnsafeBufferPointer<UInt8>,_,_)``, on the calling thread.
///
/// Source: RFC 8259.
package struct JSONReader: ~Copyable {
  let base: UnsafePointer<UInt8>
  let count: Int
  var index = 0
  var start = 0
  var depthLeft: Int
  var keys = JSONKeyStack()
  var scratch: [UInt8] = []
  var failure: JSONError?

  /// The largest depth limit; greater limits are reduced to it. It bounds the stack that nesting takes.
  package static let largestDepth = 256

  /// The offset of the next unread byte, from 0; the size of the buffer after an error.
  package var offset: Int { index }

  init(base: UnsafePointer<UInt8>, count: Int, maximumDepth: Int) {
    self.base = base
    self.count = count
    self.depthLeft = min(max(maximumDepth, 0), Self.largestDepth)
  }

  /// The kind of the next value, which stays unread.
  ///
  /// - Throws: ``JSONError`` when no value begins here.
  package mutating func peekKind() throws(JSONError) -> JSONKind {
    let byte = try nextByte()
    guard let kind = JSONKind(firstByte: byte) else { throw fail(.unexpectedByte) }
    return kind
  }

  /// Reads `true` or `false`.
  ///
  /// - Throws: ``JSONError`` when the next value is neither.
  package mutating func readBool() throws(JSONError) -> Bool {
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
  package mutating func readNull() throws(JSONError) {
    guard try nextByte() == UInt8(ascii: "n") else { throw mismatch(.null) }
    try expectLiteral("null")
  }

  /// Reads the next value if it is `null`; otherwise returns false and leaves it unread.
  ///
  /// - Throws: ``JSONError`` when no value begins here.
  package mutating func readNullIfPresent() throws(JSONError) -> Bool {
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

  /// The next byte that isn't white space. It stays unread.
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

  /// The error for a value of another kind, or for a byte that begins no value.
  mutating func mismatch(_ expected: JSONKind) -> JSONError {
    guard index < count, JSONKind(firstByte: base[index]) != nil else { return fail(.unexpectedByte) }
    return fail(.typeMismatch, expected: expected)
  }

  /// Invalidates the reader. Records the first error, which all later calls throw.
  @inline(never)
  mutating func fail(_ code: JSONError.Code, at offset: Int? = nil, expected: JSONKind? = nil) -> JSONError {
    if let failure { return failure }
    let error = JSONError(code, offset: offset ?? index, expected: expected)
    failure = error
    index = count
    return error
  }
}

extension JSONReader {
  /// Reads an object, member by member in the order of the text.
  ///
  /// - Parameter body: receives each key, and reads its value. A value left unread is skipped and checked. Its error ends the reading.
  /// - Throws: ``JSONError`` if the next value is no object, is invalid, nests too deep or has a duplicate key; otherwise the error of
  ///   `body`.
  package mutating func readObject(_ body: (JSONKey, inout JSONReader) throws -> Void) throws {
    guard try nextByte() == UInt8(ascii: "{") else { throw mismatch(.object) }
    try descend()
    var frame = keys.open()
    if try nextByte() == UInt8(ascii: "}") {
      index &+= 1
    } else {
      repeat {
        guard try nextByte() == UInt8(ascii: "\"") else { throw fail(.unexpectedByte) }
        let keyOffset = index
        let key = key(from: try scanString())
        guard keys.insert(key, into: &frame) else { throw fail(.duplicateKey, at: keyOffset) }
        guard try nextByte() == UInt8(ascii: ":") else { throw fail(.unexpectedByte) }
        index &+= 1
        skipWhitespace()
        let before = index
        do { try body(key, &self) } catch { throw abandon(error) }
        if index == before { try skipValue() }
      } while try continues(until: UInt8(ascii: "}"))
    }
    keys.close(frame)
    depthLeft &+= 1
  }

  /// Reads an array, element by element.
  ///
  /// - Parameter body: reads one element. An element left unread is skipped and checked. Its error ends the reading.
  /// - Throws: ``JSONError`` if the next value is no array, is invalid or nests too deep; otherwise the error of `body`.
  package mutating func readArray(_ body: (inout JSONReader) throws -> Void) throws {
    guard try nextByte() == UInt8(ascii: "[") else { throw mismatch(.array) }
    try descend()
    if try nextByte() == UInt8(ascii: "]") {
      index &+= 1
    } else {
      repeat {
        skipWhitespace()
        let before = index
        do { try body(&self) } catch { throw abandon(error) }
        if index == before { try skipValue() }
      } while try continues(until: UInt8(ascii: "]"))
    }
    depthLeft &+= 1
  }

  /// Consumes the opening bracket, if the depth limit permits.
  private mutating func descend() throws(JSONError) {
    guard depthLeft > 0 else { throw fail(.tooDeep) }
    depthLeft &-= 1
    index &+= 1
  }

  /// Consumes the comma before another value (true) or the closing bracket (false).
  @inline(__always)
  private mutating func continues(until close: UInt8) throws(JSONError) -> Bool {
    let byte = try nextByte()
    guard byte == UInt8(ascii: ",") || byte == close else { throw fail(.unexpectedByte) }
    index &+= 1
    return byte != close
  }

  /// Invalidates the reader after a closure threw, and returns the error to rethrow.
  private mutating func abandon(_ error: any Error) -> any Error {
    _ = fail(.abandoned)
    return error
  }
}

extension JSONReader {
  /// Skips the next value of any kind, with the same checks as reading it.
  ///
  /// - Throws: ``JSONError`` if the value is invalid.
  package mutating func skipValue() throws {
    switch try peekKind() {
    case .string: _ = try scanString()
    case .number: _ = try scanNumber()
    case .bool: _ = try readBool()
    case .null: try readNull()
    case .object: try readObject { _, reader in try reader.skipValue() }
    case .array: try readArray { reader in try reader.skipValue() }
    }
  }

  /// Skips the next value like ``skipValue()``, and returns its bytes without surrounding white space.
  ///
  /// - Returns: a part of the borrowed buffer, valid until ``read(_:maximumDepth:_:)-(UnsafeBufferPointer<UInt8>,_,_)`` returns.
  /// - Throws: ``JSONError`` if the value is invalid.
  package mutating func readRawValue() throws -> UnsafeBufferPointer<UInt8> {
    skipWhitespace()
    let start = index
    try skipValue()
    return UnsafeBufferPointer(start: base + start, count: index &- start)
  }
}

extension JSONReader {
  /// Reads the single value in `bytes`.
  ///
  /// - Parameters:
  ///   - bytes: a JSON text in UTF-8; must not change before this returns.
  ///   - maximumDepth: the maximum nesting of arrays and objects, 0...256; default 64. `[]` has depth 1.
  ///   - body: reads the value. A value left unread is skipped and checked.
  /// - Returns: the result of `body`.
  /// - Throws: ``JSONError`` if the text is invalid, otherwise the error of `body`.
  package static func read<Result>(
    _ bytes: UnsafeBufferPointer<UInt8>, maximumDepth: Int = 64,
    _ body: (inout JSONReader) throws -> Result
  ) throws -> Result {
    var reader = try begin(bytes, maximumDepth: maximumDepth)
    let result = try body(&reader)
    try reader.finish()
    return result
  }

  /// Reads the single value in `bytes`; see the first `read`.
  package static func read<Result>(
    _ bytes: UnsafeRawBufferPointer, maximumDepth: Int = 64,
    _ body: (inout JSONReader) throws -> Result
  ) throws -> Result {
    try bytes.withMemoryRebound(to: UInt8.self) { try read($0, maximumDepth: maximumDepth, body) }
  }

  /// Reads the single value in `bytes`; see the first `read`.
  package static func read<Result>(
    _ bytes: [UInt8], maximumDepth: Int = 64, _ body: (inout JSONReader) throws -> Result
  ) throws -> Result {
    try bytes.withUnsafeBufferPointer { try read($0, maximumDepth: maximumDepth, body) }
  }

  /// Reads the single value in `text`; see the first `read`.
  package static func read<Result>(
    _ text: String, maximumDepth: Int = 64, _ body: (inout JSONReader) throws -> Result
  ) throws -> Result {
    var text = text
    return try text.withUTF8 { try read($0, maximumDepth: maximumDepth, body) }
  }

  static func begin(_ bytes: UnsafeBufferPointer<UInt8>, maximumDepth: Int) throws -> JSONReader {
    guard let base = bytes.baseAddress else { throw JSONError(.emptyInput, offset: 0) }
    var reader = JSONReader(base: base, count: bytes.count, maximumDepth: maximumDepth)
    if bytes.count >= 3, base[0] == 0xEF, base[1] == 0xBB, base[2] == 0xBF {
      throw JSONError(.byteOrderMark, offset: 0)
    }
    reader.skipWhitespace()
    if reader.index == reader.count { throw JSONError(.emptyInput, offset: reader.index) }
    reader.start = reader.index
    return reader
  }

  mutating func finish() throws {
    if let failure { throw failure }
    if index == start { try skipValue() }
    skipWhitespace()
    if index != count { throw fail(.trailingBytes) }
  }
}
