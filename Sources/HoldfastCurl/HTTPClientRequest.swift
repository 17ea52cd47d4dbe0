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
  /// The path of a file that is the content, in place of `body`. It is read as it is sent.
  package var file: String?
  /// What signs the request; nil for nothing.
  package var signer: HTTPClientSigner?

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

/// Credentials of a store in the manner of Amazon S3, with which requests are signed.
///
/// Source: <https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html>, by libcurl.
package struct HTTPClientSigner: Sendable {
  let region: String
  let key: String
  let secret: String

  /// - Parameters:
  ///   - region: such as `us-east-1`.
  ///   - key: the id of the access key.
  ///   - secret: the secret access key.
  package init(region: String, key: String, secret: String) {
    (self.region, self.key, self.secret) = (region, key, secret)
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
