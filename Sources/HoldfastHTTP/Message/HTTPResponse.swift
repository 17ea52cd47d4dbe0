/// The answer to a request. Content-Length, Date, Connection and `X-Content-Type-Options: nosniff` are added when it is sent.
public struct HTTPResponse: Sendable {
  /// The status code, 200...599; any other is sent as 500.
  public var status: Int
  /// The header fields, with names spelled as in RFC 9110: `ETag`, `Content-Type`, `Vary`. A field whose name is no token, or whose value
  /// has a line break, is left out and logged.
  public var headers: [(name: String, value: String)]
  /// The content. For HEAD set the content of GET: only its length is sent. It is not sent with 204 and 304.
  public var body: [UInt8]
  /// A range of a file that is sent instead of `body`, by the same rules.
  public var file: HTTPFile.Slice?
  /// The payers that the unsent answer counts for, such as an address and a user; each counts in full. Empty, the default, means the peer's
  /// address.
  public var payers: [String] = []

  /// Why the answer is no success, as a short word for logs and metrics; never sent. Nil unless the owner sets it.
  public var reason: String?

  /// Creates an answer.
  public init(
    status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = [],
    file: HTTPFile.Slice? = nil
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.file = file
  }

  /// The size of the content in bytes.
  public var contentLength: Int64 { file?.count ?? Int64(body.count) }

  /// A one-line text that names the status: the default answer of the HTTP layer itself.
  public static func plain(status: Int) -> HTTPResponse {
    HTTPResponse(
      status: status, headers: [("Content-Type", "text/plain; charset=utf-8")],
      body: Array("\(status) \(reasonPhrase(of: status))\n".utf8))
  }
}

/// A failure that the HTTP layer answers itself, without the handler.
public struct HTTPFailure: Sendable {
  /// The status: 400, 408, 413, 414, 415, 417, 431, 500, 501, 503 or 505.
  public let status: Int
  /// The header fields received so far.
  public let headers: HTTPHeaders

  init(_ status: Int, _ headers: HTTPHeaders = HTTPHeaders()) {
    self.status = status
    self.headers = headers
  }
}
