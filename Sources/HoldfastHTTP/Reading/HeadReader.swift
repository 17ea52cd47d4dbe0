/// Parses the head of a request incrementally, strictly by RFC 9112.
///
/// Bytes that another server might interpret differently are refused immediately: a line end other than CR LF, a control character, white
/// space before a colon or at the beginning of a line, a name that is no token.
struct HeadReader {
  /// The position in the buffer up to which bytes are parsed.
  private var place = 0
  private var lineStart = 0
  private var isAfterReturn = false
  private var line: RequestLine?
  private var fields = HTTPHeaders()
  /// Whether an empty line before the request was skipped. Some clients send one after a request.
  private var hasSkipped = false

  /// Whether the request line is complete.
  var hasBegun: Bool { line != nil }

  /// The fields received so far.
  var headers: HTTPHeaders { fields }

  /// The method and the target of the request line; empty if it is not complete.
  var start: (method: String, target: String) {
    switch line?.target {
    case .plain(let target), .absolute(_, let target): (line?.method ?? "", target)
    case nil: ("", "")
    }
  }

  /// Whether nothing has arrived except perhaps an empty line.
  var isEmpty: Bool { line == nil && place == lineStart }

  /// Parses the received bytes.
  ///
  /// - Parameters:
  ///   - bytes: all bytes of the head so far, including parsed ones.
  ///   - limit: the maximum size of a head.
  /// - Returns: the head and its length in bytes; nil if it is incomplete.
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

  /// Parses a line; returns the head at its end.
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
  /// Appends the field in a line of a head.
  ///
  /// - Throws: `Refusal.malformed` for an invalid line, including a folded one (obs-fold) and space before the colon.
  mutating func append(line: UnsafeRawBufferPointer) throws(Refusal) {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0,
      line[..<colon].allSatisfy(isTokenByte)
    else { throw .malformed }
    append(name: line[..<colon], value: line[(colon + 1)...])
  }
}
