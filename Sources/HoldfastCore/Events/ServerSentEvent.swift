/// One event of a stream of Server-Sent Events.
public struct ServerSentEvent: Sendable, Hashable {
  /// The event's type: `message` where the stream names none.
  public var type: String
  /// Its data, the lines joined by line feeds.
  public var data: String

  /// An event of its parts.
  public init(type: String = "message", data: String) {
    self.type = type
    self.data = data
  }
}
