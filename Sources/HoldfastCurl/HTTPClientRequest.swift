package import HoldfastCore

/// An HTTP request.
package struct HTTPClientRequest: Sendable {
  /// The method, such as `POST`.
  package var method: String
  /// An absolute URL, `http` or `https`.
  package var url: String
  /// Header fields in order. A control character in a field fails the request.
  package var headers: [(name: String, value: String)]
  /// The content; nil for none.
  package var body: [UInt8]?

  /// Creates a request.
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
  /// The complete content, decompressed.
  package let body: [UInt8]
}

/// The head of an answer.
package struct HTTPClientHead: Sendable {
  /// The HTTP status.
  package var status = 0
  /// The header fields by their lower-case names. The last of a repeated field wins.
  package var headers: TextMap<String> = [:]

  /// The seconds in Retry-After (RFC 9110, section 10.2.3); nil if absent or not a number.
  package var retryAfter: Int? { headers["retry-after"].flatMap { Int($0) } }
}
