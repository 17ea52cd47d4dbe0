import Glibc

/// The status line and the header fields of an answer, as bytes.
struct ResponseHead {
  /// What is said of the connection.
  enum Connection: String {
    case implied = ""
    case close = "Connection: close\r\n"
    case keepAlive = "Connection: keep-alive\r\n"
  }

  let bytes: [UInt8]

  /// - Parameters:
  ///   - hasEnd: whether the content has a length; without one it ends with the connection.
  ///   - date: the field of the present.
  ///   - log: is told of what can't be sent.
  init(
    _ response: HTTPResponse, _ connection: Connection, hasEnd: Bool = true, date: String,
    log: (String) -> Void
  ) {
    var text = "HTTP/1.1 \(response.status) \(reasonPhrase(of: response.status))\r\n"
    text += date
    for (name, value) in response.headers {
      if isFieldName(name), isFieldValue(value) {
        text += name
        text += ": "
        text += value
        text += "\r\n"
      } else {
        log("left out a header field of an answer: \(name.debugDescription)")
      }
    }
    if hasEnd, !Self.hasNoContent(response.status) { text += "Content-Length: \(response.contentLength)\r\n" }
    // What is not said to be a page is never one.
    text += "X-Content-Type-Options: nosniff\r\n"
    text += connection.rawValue
    text += "\r\n"
    bytes = Array(text.utf8)
  }

  /// Whether answers of a status end with their head: RFC 9112, section 6.3.
  static func hasNoContent(_ status: Int) -> Bool { status == 204 || status == 304 }
}

/// The field of the present as RFC 9110, section 5.6.7, has it: `Date: Sun, 06 Nov 1994 08:49:37 GMT`.
func dateField(of seconds: time_t) -> String {
  var (seconds, parts) = (seconds, tm())
  gmtime_r(&seconds, &parts)
  let day = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][Int(parts.tm_wday)]
  let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
  func two(_ number: Int32) -> String { (number < 10 ? "0" : "") + String(number) }
  return "Date: \(day), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900)"
    + " \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT\r\n"
}

/// Whether `name` is a token of RFC 9110, section 5.6.2.
func isFieldName(_ name: String) -> Bool { !name.isEmpty && name.utf8.allSatisfy(isTokenByte) }

/// Whether `value` has no control character, which could end the field.
func isFieldValue(_ value: String) -> Bool {
  value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
}

/// The phrase that RFC 9110 and its kin give for a status.
func reasonPhrase(of status: Int) -> String { phrases[status] ?? "Status" }

private let phrases: [Int: String] = [
  200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content",
  205: "Reset Content", 206: "Partial Content", 207: "Multi-Status", 208: "Already Reported", 226: "IM Used",
  300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
  305: "Use Proxy", 307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request",
  401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
  406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict",
  410: "Gone", 411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large",
  414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable", 417: "Expectation Failed",
  421: "Misdirected Request", 422: "Unprocessable Content", 423: "Locked", 424: "Failed Dependency",
  425: "Too Early", 426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests",
  431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons", 500: "Internal Server Error",
  501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
  505: "HTTP Version Not Supported", 507: "Insufficient Storage", 508: "Loop Detected",
  511: "Network Authentication Required",
]
