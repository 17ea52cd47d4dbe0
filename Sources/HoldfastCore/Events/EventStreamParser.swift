/// Parses a stream of Server-Sent Events incrementally.
///
/// Source: the HTML standard, section 9.2.6, "Interpreting an event stream". Lines and events have a size limit. Invalid UTF-8 becomes
/// U+FFFD.
package struct EventStreamParser: Sendable {
  /// A line or an event exceeds its limit.
  package struct TooLong: Error, Sendable, Hashable {}

  /// The maximum length of a line in bytes: 64 KiB.
  package static let lineLimit = 64 << 10
  /// The maximum data of one event in bytes: 1 MiB.
  package static let dataLimit = 1 << 20

  /// The id to send as Last-Event-ID: that of the last complete block, or of an earlier one if it had none.
  package private(set) var lastEventID = ""
  /// The last reconnection time in milliseconds; nil if the stream sent none.
  package private(set) var retryMilliseconds: Int?

  private var line: [UInt8] = []
  /// Whether the last byte was a carriage return. A line feed after it belongs to the same line end.
  private var isAfterReturn = false
  private var isFirstLine = true
  private var type = ""
  private var data: String?
  private var id = ""

  /// Creates a parser at the beginning of a stream.
  ///
  /// - Parameter lastEventID: the Last-Event-ID of the request.
  package init(lastEventID: String = "") {
    self.lastEventID = lastEventID
    id = lastEventID
  }

  /// Parses the next bytes.
  ///
  /// - Returns: the events completed by these bytes.
  /// - Throws: `TooLong`; the parser is unusable afterwards.
  package mutating func receive(_ bytes: some Sequence<UInt8>) throws(TooLong) -> [ServerSentEvent] {
    var events: [ServerSentEvent] = []
    for byte in bytes {
      let isSecondHalf = isAfterReturn && byte == UInt8(ascii: "\n")
      isAfterReturn = byte == UInt8(ascii: "\r")
      if isSecondHalf { continue }
      if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") {
        if let event = try endLine() { events.append(event) }
      } else {
        if line.count == Self.lineLimit { throw TooLong() }
        line.append(byte)
      }
    }
    return events
  }

  private mutating func endLine() throws(TooLong) -> ServerSentEvent? {
    defer { line.removeAll(keepingCapacity: true) }
    var text = line[...]
    if isFirstLine {
      isFirstLine = false
      if text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
    }
    if text.isEmpty { return dispatch() }
    let colon = text.firstIndex(of: UInt8(ascii: ":")) ?? text.endIndex
    var value = text[colon...].dropFirst()
    if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
    // A line that begins with a colon is a comment: its field name is empty.
    try take(String(decoding: text[..<colon], as: UTF8.self), value)
    return nil
  }

  private mutating func take(_ field: String, _ value: ArraySlice<UInt8>) throws(TooLong) {
    switch field {
    case "event": type = String(decoding: value, as: UTF8.self)
    case "data":
      if (data?.utf8.count ?? 0) + value.count > Self.dataLimit { throw TooLong() }
      let text = String(decoding: value, as: UTF8.self)
      data = data.map { $0 + "\n" + text } ?? text
    case "id":
      if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
    case "retry":
      if !value.isEmpty, value.allSatisfy({ $0 &- 0x30 < 10 }),
        let number = Int(String(decoding: value, as: UTF8.self))
      {
        retryMilliseconds = number
      }
    default: break
    }
  }

  /// Ends a block: returns an event if the block has data.
  private mutating func dispatch() -> ServerSentEvent? {
    lastEventID = id
    defer { (type, data) = ("", nil) }
    guard let data else { return nil }
    return ServerSentEvent(type: type.isEmpty ? "message" : type, data: data)
  }
}
