import HoldfastService

/// Where a team's own program is told which zones moved: docs/PUSH.md, section on webhooks.
public struct WebhookConfiguration: Sendable {
  /// One call of the program.
  public struct Delivery: Sendable {
    /// JSON.
    public let body: [UInt8]
    /// The header fields that go with it, the signature among them.
    public let headers: [(name: String, value: String)]
  }

  /// What became of a call.
  public struct Answer: Sendable {
    /// The HTTP status; 0 when there was no answer.
    public let status: Int
    /// The seconds of Retry-After, where it was sent.
    public let retryAfter: Int?

    /// An answer of its parts.
    public init(status: Int, retryAfter: Int? = nil) {
      self.status = status
      self.retryAfter = retryAfter
    }
  }

  /// The key of the signatures; 16 bytes or more.
  public var secret: [UInt8]
  /// How many zones one call names at the most; 100 unless given.
  public var batch = 100
  /// Makes a call and waits for the answer, for at most as long as the program may take; on a thread that does nothing else.
  public var post: @Sendable (Delivery) -> Answer

  /// A webhook of its parts.
  public init(secret: [UInt8], post: @escaping @Sendable (Delivery) -> Answer) {
    self.secret = secret
    self.post = post
  }
}
