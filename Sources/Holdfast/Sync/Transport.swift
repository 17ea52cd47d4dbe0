/// A request to the server.
public struct TransportRequest: Sendable {
  /// The HTTP method.
  public let method: String
  /// The path, from the server's address on.
  public let path: String
  /// The device's token, where there is one.
  public let token: String?
  /// JSON, or nil.
  public let body: [UInt8]?

  /// A request of its parts.
  public init(method: String, path: String, token: String? = nil, body: [UInt8]? = nil) {
    self.method = method
    self.path = path
    self.token = token
    self.body = body
  }
}

/// The server's answer.
public struct TransportAnswer: Sendable {
  /// The HTTP status.
  public let status: Int
  /// The seconds of Retry-After, where it was sent.
  public let retryAfter: Int?
  /// The whole body.
  public let body: [UInt8]

  /// An answer of its parts.
  public init(status: Int, retryAfter: Int? = nil, body: [UInt8]) {
    self.status = status
    self.retryAfter = retryAfter
    self.body = body
  }
}

/// The way to the server.
public protocol Transport: Sendable {
  /// Sends a request and waits for its whole answer.
  ///
  /// - Throws: when no whole answer came; the request may have had its effect all the same.
  func send(_ request: TransportRequest) async throws -> TransportAnswer
}
