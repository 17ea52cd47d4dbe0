/// Reads the head of a request as its bytes come, by the letter of RFC 9112.
///
/// What another server might read otherwise is refused at the byte that shows it: a line that ends with anything but CR LF, a control character,
/// white space before a colon or at the beginning of a line, a name that is no token.
struct HeadReader {
  /// Where it stands in the buffer: all before it was looked at.
  private var place = 0
  private var lineStart = 0
  private var isAfterReturn = false
  private var line: RequestLine?
  private var fields = HTTPHeaders()
  /// Whether the empty line was passed over that some clients send behind a request.
  private var hasSkipped = false

  /// Whether the request line is here.
  var hasBegun: Bool { line != nil }

  /// The fields that have come so far.
  var headers: HTTPHeaders { fields }

  /// Whether nothing has come but perhaps an empty line.
  var isEmpty: Bool { line == nil && place == lineStart }

  /// Looks at what has come.
  ///
  /// - Parameters:
  ///   - bytes: all bytes of the head so far, those that were looked at among them.
  ///   - limit: how many a head may have.
  /// - Returns: the head, and how many bytes it has; nil when it goes on.
  mutating func read(
    _ bytes: UnsafeRawBufferPointer, limit: Int
  ) throws(Refusal) -> (RequestHead, length: Int)? {
    let end = min(bytes.count, limit)
    while place < end {
      let byte = bytes[place]
      if isAfterReturn {
        guard byte == UInt8(ascii: "\n") else { throw .malformed }
        isAfterReturn = false
        let text = UnsafeRawBufferPointer(rebasing: bytes[lineStart..<(place - 1)])
        place += 1
        lineStart = place
        if let head = try take(text) { return (head, place) }
        continue
      }
      switch byte {
      case UInt8(ascii: "\r"): isAfterReturn = true
      case 0x20...0x7E, 0x80...0xFF, UInt8(ascii: "\t"): break
      default: throw .malformed
      }
      place += 1
    }
    if place == limit { throw line == nil ? .targetTooLong : .headTooLarge }
    return nil
  }

  /// Takes a line; gives the head at its end.
  private mutating func take(_ text: UnsafeRawBufferPointer) throws(Refusal) -> RequestHead? {
    guard let line else {
      if text.isEmpty {
        if hasSkipped { throw .malformed }
        hasSkipped = true
        return nil
      }
      self.line = try RequestLine(text)
      return nil
    }
    if text.isEmpty { return try RequestHead(line, fields) }
    try fields.append(line: text)
    return nil
  }
}

extension HTTPHeaders {
  /// Adds the field of a line of a head.
  ///
  /// - Throws: `Refusal.malformed` when it is none: a line that goes on (obs-fold), and space before the colon among them.
  mutating func append(line: UnsafeRawBufferPointer) throws(Refusal) {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0,
      line[..<colon].allSatisfy(isTokenByte)
    else { throw .malformed }
    append(name: line[..<colon], value: line[(colon + 1)...])
  }
}
