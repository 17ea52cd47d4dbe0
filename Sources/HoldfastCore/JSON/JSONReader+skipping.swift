extension JSONReader {
  /// Passes over the next value, whatever it is, checking it as strictly as if it were read.
  ///
  /// - Throws: ``JSONError`` when the value breaks a rule.
  public mutating func skipValue() throws {
    switch try peekKind() {
    case .string: _ = try scanString()
    case .number: _ = try scanNumber()
    case .bool: _ = try readBool()
    case .null: try readNull()
    case .object: try readObject { _, reader in try reader.skipValue() }
    case .array: try readArray { reader in try reader.skipValue() }
    }
  }

  /// Passes over the next value like ``skipValue()`` and answers its exact bytes, without white space around it.
  ///
  /// - Returns: a part of the borrowed buffer, valid until ``read(_:maximumDepth:_:)-(UnsafeBufferPointer<UInt8>,_,_)`` returns.
  /// - Throws: ``JSONError`` when the value breaks a rule.
  public mutating func readRawValue() throws -> UnsafeBufferPointer<UInt8> {
    skipWhitespace()
    let start = index
    try skipValue()
    return UnsafeBufferPointer(start: base + start, count: index &- start)
  }
}
