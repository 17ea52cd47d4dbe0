/// What a request is answered with. Content-Length, Date, HTTPConnection and `X-Content-Type-Options: nosniff` are added on the way out.
public struct HTTPResponse: Sendable {
  /// The status code, 200...599; another one is answered as 500.
  public var status: Int
  /// The header fields, with their names written as RFC 9110 writes them: `ETag`, `Content-Type`, `Vary`. One whose name is no token, or whose value holds a line break, is left out and logged.
  public var headers: [(name: String, value: String)]
  /// The content. For HEAD give the content of GET: its length is sent, its bytes are not. With 204 and 304 it is
  /// not sent.
  public var body: [UInt8]
  /// A stretch of a file, sent in place of `body` as the client takes it; by the same rules.
  public var file: HTTPFile.Slice?
  /// Who has to answer for what of it waits to be taken, such as an address and a user, each with a share; none, the default, for the peer's address.
  public var payers: [String] = []

  /// Why the answer is no success, as a short word for logs and metrics; never sent. Nil unless the owner sets it.
  public var reason: String?

  /// An answer.
  public init(
    status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = [],
    file: HTTPFile.Slice? = nil
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.file = file
  }

  /// How many bytes the content has.
  public var contentLength: Int64 { file?.count ?? Int64(body.count) }

  /// A one-line text that names the status: the answer of the server itself when the owner gives no other.
  public static func plain(status: Int) -> HTTPResponse {
    HTTPResponse(
      status: status, headers: [("Content-Type", "text/plain; charset=utf-8")],
      body: Array("\(status) \(reasonPhrase(of: status))\n".utf8))
  }
}

/// What the HTTP layer answers by itself, before the handler has a request or in its place.
public struct HTTPFailure: Sendable {
  /// The status: 400, 408, 413, 414, 415, 417, 431, 500, 501, 503 or 505.
  public let status: Int
  /// The header fields of the request, as far as they have come.
  public let headers: HTTPHeaders

  init(_ status: Int, _ headers: HTTPHeaders = HTTPHeaders()) {
    self.status = status
    self.headers = headers
  }
}
