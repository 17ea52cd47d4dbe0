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
  head += "Content-Length: \(response.body.count)\r\nConnection: close\r\n\r\n"
  return Array(head.utf8) + (method == "HEAD" ? [] : response.body)
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
