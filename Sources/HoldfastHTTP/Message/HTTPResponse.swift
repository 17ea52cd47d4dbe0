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

  /// Whether the request has had its effect, such as a committed write. Without memory for the answer, the connection is then cut. Other
  /// requests get a 503, which says that nothing happened.
  public var hasTakenEffect = false
  /// Whether the connection is cut in place of this answer, as nobody knows whether the request has had its effect.
  public var isCut = false
  /// Receives what the connection sends for this answer, when it begins to: the answer, perhaps compressed, or a 503 in its place. Nil if
  /// the connection is cut instead. It is called at most once, on an HTTP thread, and must not block.
  public var report: (@Sendable (HTTPResponse?) -> Void)?

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
  /// The request as far as it has arrived, without its content. The method and the target are empty if their line is not complete.
  public let request: HTTPRequest
  /// The time when the head was complete, or that of the failure if it is not.
  public let began: ContinuousClock.Instant

  init(_ status: Int, _ request: HTTPRequest, began: ContinuousClock.Instant) {
    self.status = status
    self.request = request
    self.began = began
  }
}
