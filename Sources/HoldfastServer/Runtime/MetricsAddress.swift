/// Where `GET /metrics` is served.
///
/// ```swift
/// configuration.metrics = MetricsAddress(host: "127.0.0.1", port: 9464)
/// ```
public struct MetricsAddress: Sendable {
  /// The IP address to listen on.
  public var host: String
  /// The port; 0 is any free one.
  public var port: UInt16

  /// An address.
  public init(host: String, port: UInt16) { (self.host, self.port) = (host, port) }
}
