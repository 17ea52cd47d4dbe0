import HoldfastHTTP

/// The listener of `GET /metrics`. It has an address of its own, as its reader is an operator and not a client of the server.
final class MetricsServer: Sendable {
  private let http: HTTPServer

  /// The port that it listens on.
  var port: UInt16 { http.port }

  /// Starts to listen.
  ///
  /// - Parameter text: makes the answer; called on a thread of its own.
  /// - Throws: `HTTPServerError`.
  init(
    on listener: HTTPListener, log: @escaping @Sendable (String) -> Void,
    text: @escaping @Sendable () -> String
  ) throws(HTTPServerError) {
    // A scraper needs one connection, and a request without content.
    let limits = HTTPLimits(
      maximumBodyBytes: 0, maximumHeaderBytes: 8 << 10, maximumConnections: 16,
      maximumConnectionsPerAddress: 16, requestDeadline: .seconds(10), idleTimeout: .seconds(120))
    http = try HTTPServer(
      on: listener, threads: 1, limits: limits, log: log,
      admission: { request, admission in
        if let refusal = Self.refusal(of: request) { admission.refuse(refusal) } else { admission.admit() }
      }
    ) { request, responder in
      if let refusal = Self.refusal(of: request) {
        responder.respond(refusal)
        return
      }
      responder.respond(
        HTTPResponse(
          status: 200, headers: [("Content-Type", PrometheusText.mediaType), ("Cache-Control", "no-store")],
          body: Array(text().utf8)))
    }
  }

  /// The answer to a request for anything else; nil for `GET /metrics`.
  private static func refusal(of request: HTTPRequest) -> HTTPResponse? {
    if request.path != "/metrics" { return HTTPResponse.plain(status: 404) }
    if request.method == "GET" || request.method == "HEAD" { return nil }
    var refusal = HTTPResponse.plain(status: 405)
    refusal.headers.append(("Allow", "GET, HEAD"))
    return refusal
  }

  /// Stops; a second call does nothing.
  func stop() { http.stop(grace: .zero) }
}
