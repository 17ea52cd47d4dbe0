/// Reads a stream of Server-Sent Events as its bytes come.
///
/// Source: the HTML standard, section 9.2.6, "Interpreting an event stream". Lines and events have a bound; bytes that are no UTF-8 become
/// U+FFFD.
public struct EventStreamParser: Sendable {
  /// A line or an event is longer than is taken.
  public struct TooLong: Error, Sendable, Hashable {}

  /// The longest line that is taken, in bytes: 64 KiB.
  public static let lineLimit = 64 << 10
  /// The most data of one event that is taken, in bytes: 1 MiB.
  public static let dataLimit = 1 << 20

  /// The id to come back with: of the last block of lines that was whole, or an earlier one where that had none.
  public private(set) var lastEventID = ""
  /// The time before coming back, in milliseconds, that the stream said last; nil when it has said none.
  public private(set) var retryMilliseconds: Int?

  private var line: [UInt8] = []
  /// The last byte was a carriage return: a line feed that follows belongs to it.
  private var isAfterReturn = false
  private var isFirstLine = true
  private var type = ""
  private var data: String?
  private var id = ""

  /// A parser at the beginning of a stream.
  ///
  /// - Parameter lastEventID: the id that the stream was asked for with.
  public init(lastEventID: String = "") {
    self.lastEventID = lastEventID
    id = lastEventID
  }

  /// Takes what has come.
  ///
  /// - Returns: the events that became whole with it.
  /// - Throws: `TooLong`; the parser must not be used any more.
  public mutating func receive(_ bytes: some Sequence<UInt8>) throws(TooLong) -> [ServerSentEvent] {
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
    // A line that begins with a colon is a comment: its field has no name.
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

  /// The end of a block of lines: an event, if it has data.
  private mutating func dispatch() -> ServerSentEvent? {
    lastEventID = id
    defer { (type, data) = ("", nil) }
    guard let data else { return nil }
    return ServerSentEvent(type: type.isEmpty ? "message" : type, data: data)
  }
}
