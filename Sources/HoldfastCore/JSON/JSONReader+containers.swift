extension JSONReader {
  /// Reads an object, member by member in the order of the text.
  ///
  /// - Parameter body: is given each key, and takes its value from the reader; a value that it leaves unread is
  ///   skipped, and checked. What it throws ends the reading.
  /// - Throws: ``JSONError`` when the next value isn't an object, breaks the grammar, nests too deep or has a
  ///   key twice; else what `body` throws.
  public mutating func readObject(_ body: (JSONKey, inout JSONReader) throws -> Void) throws {
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
  /// - Parameter body: takes one element from the reader; one that it leaves unread is skipped, and checked. What it
  ///   throws ends the reading.
  /// - Throws: ``JSONError`` when the next value isn't an array, breaks the grammar or nests too deep; else
  ///   what `body` throws.
  public mutating func readArray(_ body: (inout JSONReader) throws -> Void) throws {
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

  /// Takes the opening bracket, if the limit of depth allows.
  private mutating func descend() throws(JSONError) {
    guard depthLeft > 0 else { throw fail(.tooDeep) }
    depthLeft &-= 1
    index &+= 1
  }

  /// Takes the comma before one more value (true) or the closing bracket (false).
  @inline(__always)
  private mutating func continues(until close: UInt8) throws(JSONError) -> Bool {
    let byte = try nextByte()
    guard byte == UInt8(ascii: ",") || byte == close else { throw fail(.unexpectedByte) }
    index &+= 1
    return byte != close
  }

  /// Spends the reader when a closure leaves in the middle; answers the error to pass on.
  private mutating func abandon(_ error: any Error) -> any Error {
    _ = fail(.abandoned)
    return error
  }
}
