/// How long a client waits and how much it takes.
package struct HTTPClientLimits: Sendable {
  /// How long a connection may take to open.
  package var connectTimeout: Duration
  /// How long nothing may arrive or leave; nil for any time.
  package var idleTimeout: Duration?
  /// How long a request may take in all; nil for any time.
  package var totalTimeout: Duration?
  /// How many bytes of content, decompressed, an answer may have.
  package var bodyLimit: Int

  /// How many bytes the header fields of an answer may have, interim answers included.
  package static let headLimit = 64 << 10

  /// Limits of their parts.
  package init(
    connectTimeout: Duration = .seconds(30), idleTimeout: Duration? = .seconds(30),
    totalTimeout: Duration? = .seconds(900), bodyLimit: Int = 64 << 20
  ) {
    self.connectTimeout = connectTimeout
    self.idleTimeout = idleTimeout
    self.totalTimeout = totalTimeout
    self.bodyLimit = bodyLimit
  }
}
