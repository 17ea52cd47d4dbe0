import Glibc

/// The encoded status line and header fields of an answer.
struct ResponseHead {
  /// The Connection field.
  enum Connection: String {
    case implied = ""
    case close = "Connection: close\r\n"
    case keepAlive = "Connection: keep-alive\r\n"
  }

  let bytes: [UInt8]

  /// - Parameters:
  ///   - hasEnd: whether the content has a length. Without one it ends with the connection.
  ///   - date: the current Date field.
  ///   - log: receives messages about fields that can't be sent.
  init(
    _ response: HTTPResponse, _ connection: Connection, hasEnd: Bool = true, date: String,
    log: (String) -> Void
  ) {
    var bytes = Array("HTTP/1.1 \(response.status) \(reasonPhrase(of: response.status))\r\n".utf8)
    bytes.reserveCapacity(512)
    bytes += date.utf8
    for (name, value) in response.headers {
      if isFieldName(name), isFieldValue(value) {
        bytes += name.utf8
        bytes += ": ".utf8
        bytes += value.utf8
        bytes += "\r\n".utf8
      } else {
        log("left out a header field of an answer: \(name.debugDescription)")
      }
    }
    if hasEnd, !Self.hasNoContent(response.status) {
      bytes += "Content-Length: \(response.contentLength)\r\n".utf8
    }
    // Prevents browsers from interpreting an answer as HTML unless its type says so.
    bytes += "X-Content-Type-Options: nosniff\r\n".utf8
    bytes += connection.rawValue.utf8
    bytes += "\r\n".utf8
    self.bytes = bytes
  }

  /// Whether answers with a status end with their head: RFC 9112, section 6.3.
  static func hasNoContent(_ status: Int) -> Bool { status == 204 || status == 304 }
}

/// The Date field in the form of RFC 9110, section 5.6.7: `Date: Sun, 06 Nov 1994 08:49:37 GMT`.
func dateField(of seconds: time_t) -> String {
  var (seconds, parts) = (seconds, tm())
  gmtime_r(&seconds, &parts)
  let day = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][Int(parts.tm_wday)]
  let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
  func two(_ number: Int32) -> String { (number < 10 ? "0" : "") + String(number) }
  return "Date: \(day), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900)"
    + " \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT\r\n"
}
