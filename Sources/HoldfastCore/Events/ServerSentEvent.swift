/// One event of a stream of Server-Sent Events.
package struct ServerSentEvent: Sendable, Hashable {
  /// The event's type; `message` if the stream names none.
  package var type: String
  /// The data; several lines are joined by line feeds.
  package var data: String

  /// Creates an event.
  package init(type: String = "message", data: String) {
    self.type = type
    self.data = data
  }
}
