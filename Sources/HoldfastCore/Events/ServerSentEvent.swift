/// One event of a stream of Server-Sent Events.
public struct ServerSentEvent: Sendable, Hashable {
  /// The event's type; `message` if the stream names none.
  public var type: String
  /// The data; several lines are joined by line feeds.
  public var data: String

  /// Creates an event.
  public init(type: String = "message", data: String) {
    self.type = type
    self.data = data
  }
}
