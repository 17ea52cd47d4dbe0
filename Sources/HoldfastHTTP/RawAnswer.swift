internal import CMicroHTTPD
import Glibc

/// The phrase that RFC 9110 gives for a status.
func reasonPhrase(of status: Int) -> String {
  MHD_get_reason_phrase_for(UInt32(clamping: status)).map { String(cString: $0) } ?? "Unknown"
}

/// A whole answer as bytes, for the moments when libmicrohttpd cannot send one: it takes an answer only before the
/// first and after the last byte of a request's content. The connection ends with it.
func rawBytes(of response: HTTPResponse, method: String?) -> [UInt8] {
  var head = "HTTP/1.1 \(response.status) \(reasonPhrase(of: response.status))\r\n"
  for (name, value) in response.headers where isFieldName(name) && isFieldValue(value) {
    head += "\(name): \(value)\r\n"
  }
  head += "Content-Length: \(response.contentLength)\r\nConnection: close\r\n\r\n"
  return Array(head.utf8) + (method == "HEAD" ? [] : response.file?.bytes ?? response.body)
}

/// The head of an answer that ends with its connection.
func streamHead(status: Int, headers: [(name: String, value: String)]) -> [UInt8] {
  var head = "HTTP/1.1 \(status) \(reasonPhrase(of: status))\r\nDate: \(httpDate())\r\n"
  for (name, value) in headers where isFieldName(name) && isFieldValue(value) {
    head += "\(name): \(value)\r\n"
  }
  return Array((head + "Connection: close\r\n\r\n").utf8)
}

/// The present as RFC 9110, section 5.6.7, has it: `Sun, 06 Nov 1994 08:49:37 GMT`.
private func httpDate() -> String {
  var (seconds, parts) = (time(nil), tm())
  gmtime_r(&seconds, &parts)
  let day = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][Int(parts.tm_wday)]
  let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
  func two(_ number: Int32) -> String { (number < 10 ? "0" : "") + String(number) }
  return "\(day), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900)"
    + " \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
}

/// Sends what the socket takes at once. The socket's buffer is empty when this is used, so that is all of it.
func sendWithoutWaiting(_ bytes: [UInt8], to descriptor: Int32) {
  _ = bytes.withUnsafeBytes {
    send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
  }
}

/// Whether `name` is a token of RFC 9110, section 5.6.2.
func isFieldName(_ name: String) -> Bool {
  !name.isEmpty
    && name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"):
        true
      default: "!#$%&'*+.^_`|~".utf8.contains(byte)
      }
    }
}

/// Whether `value` has no control character, which could end the field.
func isFieldValue(_ value: String) -> Bool {
  value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
}
