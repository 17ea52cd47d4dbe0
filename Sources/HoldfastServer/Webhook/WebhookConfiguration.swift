import HoldfastService

/// A webhook, which notifies a team's program of changed zones: docs/PUSH.md, section on webhooks.
public struct WebhookConfiguration: Sendable {
  /// One call of the program.
  public struct Delivery: Sendable {
    /// The JSON body.
    public let body: [UInt8]
    /// The header fields of the call, including the signature.
    public let headers: [(name: String, value: String)]
  }

  /// The result of a call.
  public struct Answer: Sendable {
    /// The HTTP status; 0 if there was no answer.
    public let status: Int
    /// Retry-After in seconds, from 0 to 3,600; nil if absent.
    public let retryAfter: Int?
    /// The body. Of a 2xx answer, `{"gone": ["token", …]}` names push tokens that no longer work.
    public let body: [UInt8]

    /// Creates an answer. A Retry-After out of range counts as the nearest one in it.
    public init(status: Int, retryAfter: Int? = nil, body: [UInt8] = []) {
      self.status = status
      self.retryAfter = retryAfter.map { min(max($0, 0), 3600) }
      self.body = body
    }
  }

  /// The signing key; at least 16 bytes.
  public var secret: [UInt8]
  /// The maximum number of zones in one call; default 100.
  public var batch = 100
  /// The maximum number of devices in one call; default 1,000. Further calls name the others.
  public var deviceBatch = 1000
  /// Makes a call and waits for the answer within the program's time limit. It runs on the webhook's own thread.
  public var post: @Sendable (Delivery) -> Answer

  /// Creates a webhook configuration.
  public init(secret: [UInt8], post: @escaping @Sendable (Delivery) -> Answer) {
    self.secret = secret
    self.post = post
  }
}
