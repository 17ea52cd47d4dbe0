/// The timeouts and size limits of a client.
package struct HTTPClientLimits: Sendable {
  /// The time limit for opening a connection.
  package var connectTimeout: Duration
  /// The time limit for a transfer that is slower than `lowestSpeed`; nil for none. There is a second more for each 4 KiB of the request's body: the
  /// system takes it at once, and nothing shows how much of it is still on its way.
  package var idleTimeout: Duration?
  /// The lowest speed in bytes per second, of what is sent and received together.
  package var lowestSpeed: Int
  /// The time limit for a whole request; nil for none.
  package var totalTimeout: Duration?
  /// The maximum size of an answer's decompressed content in bytes.
  package var bodyLimit: Int

  /// The maximum size of an answer's header fields in bytes, including interim answers.
  package static let headLimit = 64 << 10

  /// The bytes a second at which a body is sent at the least: the server's `HTTPLimits.minimumBodyRate`.
  package static let lowestUploadSpeed = 4 << 10

  /// Creates limits.
  package init(
    connectTimeout: Duration = .seconds(30), idleTimeout: Duration? = .seconds(30), lowestSpeed: Int = 1,
    totalTimeout: Duration? = .seconds(900), bodyLimit: Int = 64 << 20
  ) {
    self.connectTimeout = connectTimeout
    self.idleTimeout = idleTimeout
    self.lowestSpeed = lowestSpeed
    self.totalTimeout = totalTimeout
    self.bodyLimit = bodyLimit
  }
}
