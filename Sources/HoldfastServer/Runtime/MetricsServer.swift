import HoldfastHTTP

/// The listener of `GET /metrics`. It has an address of its own, as its reader is an operator and not a client of the server.
final class MetricsServer: Sendable {
  private let http: HTTPServer

  /// The port that it listens on.
  var port: UInt16 { http.port }

  /// Starts to listen.
  ///
  /// - Parameter text: makes the answer; called on the listener's thread.
  /// - Throws: `HTTPServerError`.
  init(
    _ address: MetricsAddress, log: @escaping @Sendable (String) -> Void,
    text: @escaping @Sendable () -> String
  ) throws(HTTPServerError) {
    // A scraper needs one connection, and a request without content.
    let limits = HTTPLimits(
      maximumBodyBytes: 0, maximumHeaderBytes: 8 << 10, maximumConnections: 16,
      maximumConnectionsPerAddress: 16, requestDeadline: .seconds(10), idleTimeout: .seconds(120))
    http = try HTTPServer(
      address: address.host, port: address.port, threads: 1, limits: limits, log: log
    ) { request, responder in
      guard request.path == "/metrics" else {
        responder.respond(HTTPResponse.plain(status: 404))
        return
      }
      guard request.method == "GET" || request.method == "HEAD" else {
        var refusal = HTTPResponse.plain(status: 405)
        refusal.headers.append(("Allow", "GET, HEAD"))
        responder.respond(refusal)
        return
      }
      responder.respond(
        HTTPResponse(
          status: 200, headers: [("Content-Type", PrometheusText.mediaType), ("Cache-Control", "no-store")],
          body: Array(text().utf8)))
    }
  }

  /// Stops; a second call does nothing.
  func stop() { http.stop(grace: .zero) }
}
