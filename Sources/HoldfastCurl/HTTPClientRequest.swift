package import HoldfastCore

/// A request over HTTP.
package struct HTTPClientRequest: Sendable {
  /// The method, such as `POST`.
  package var method: String
  /// An absolute address, `http` or `https`.
  package var url: String
  /// Header fields in order. A field that holds a control character fails the request.
  package var headers: [(name: String, value: String)]
  /// The content; nil for none.
  package var body: [UInt8]?

  /// A request of its parts.
  package init(
    method: String = "GET", url: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }
}

/// The answer to a request.
package struct HTTPClientAnswer: Sendable {
  /// The status and the header fields.
  package let head: HTTPClientHead
  /// The whole content, decompressed.
  package let body: [UInt8]
}

/// The head of an answer.
package struct HTTPClientHead: Sendable {
  /// The HTTP status.
  package var status = 0
  /// The header fields by their names in lower case; of a field that comes twice, the last.
  package var headers: TextMap<String> = [:]

  /// The seconds of Retry-After (RFC 9110, section 10.2.3), where the answer says them as a number.
  package var retryAfter: Int? { headers["retry-after"].flatMap { Int($0) } }
}
