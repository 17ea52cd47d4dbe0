// Not inlinable, unlike what is called per value: one call for a whole text costs nothing, and the optimizer of
// Swift 6.3 crashes on inlining the end of a noncopyable value into another module.
extension JSONReader {
  /// Reads the one value that `bytes` must hold.
  ///
  /// - Parameters:
  ///   - bytes: a JSON text in UTF-8; must not change before this returns.
  ///   - maximumDepth: how deep arrays and objects may nest, 0...256; 64 unless given. `[]` is 1 deep.
  ///   - body: takes the value from the reader. A value that it leaves unread is skipped, and checked.
  /// - Returns: what `body` returned.
  /// - Throws: ``JSONError`` when the text breaks a rule, else what `body` throws.
  public static func read<Result>(
    _ bytes: UnsafeBufferPointer<UInt8>, maximumDepth: Int = 64,
    _ body: (inout JSONReader) throws -> Result
  ) throws -> Result {
    var reader = try begin(bytes, maximumDepth: maximumDepth)
    let result = try body(&reader)
    try reader.finish()
    return result
  }

  /// Reads the one value that `bytes` must hold; see the first `read`.
  public static func read<Result>(
    _ bytes: UnsafeRawBufferPointer, maximumDepth: Int = 64,
    _ body: (inout JSONReader) throws -> Result
  ) throws -> Result {
    try bytes.withMemoryRebound(to: UInt8.self) { try read($0, maximumDepth: maximumDepth, body) }
  }

  /// Reads the one value that `bytes` must hold; see the first `read`.
  public static func read<Result>(
    _ bytes: [UInt8], maximumDepth: Int = 64, _ body: (inout JSONReader) throws -> Result
  ) throws -> Result {
    try bytes.withUnsafeBufferPointer { try read($0, maximumDepth: maximumDepth, body) }
  }

  /// Reads the one value that `text` must hold; see the first `read`.
  public static func read<Result>(
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
