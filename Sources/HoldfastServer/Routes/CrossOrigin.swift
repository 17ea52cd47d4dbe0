import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// Which web pages may call the server from a browser (the Fetch standard, section 3.2): none, unless the operator names their origins. Tokens
/// are sent by the page itself, so there are no cookies to be had.
struct CrossOrigin: Sendable {
  /// Origins such as `https://app.example.org`, or `*`.
  let allowed: TextSet

  /// What is added to every answer, to a page and to whoever else: a cache must know that they differ.
  ///
  /// - Parameter fields: those of the request.
  func headers(of fields: HTTPHeaders) -> [(name: String, value: String)] {
    if allowed.isEmpty { return [] }
    guard let origin = origin(of: fields) else { return [("Vary", "Origin")] }
    return [
      ("Access-Control-Allow-Origin", origin), ("Vary", "Origin"),
      (
        "Access-Control-Expose-Headers",
        "ETag, Link, Location, Last-Modified, Retry-After, Allow, Accept, Accept-Encoding, Accept-Patch, IM, Idempotency-Replayed, X-Request-ID, Repr-Digest, Content-Range"
      ),
    ]
  }

  /// Answers `OPTIONS`, with what a browser asks before it lets a page send a request.
  func options(_ request: HTTPRequest, methods: String) -> HTTPResponse {
    var response = HTTPResponse.empty(status: 204)
    response.headers.append(("Allow", methods))
    if methods.contains("PATCH") { response.headers.append(HTTPResponse.acceptPatch) }
    guard origin(of: request.headers) != nil, request.headers["Access-Control-Request-Method"] != nil else {
      return response
    }
    response.headers += [
      ("Access-Control-Allow-Methods", methods),
      (
        "Access-Control-Allow-Headers",
        "Authorization, Content-Type, Content-Encoding, If-Match, If-None-Match, If-Modified-Since, If-Range, Range, A-IM, Last-Event-ID, X-Client-Request-ID, Idempotency-Key"
      ),
      ("Access-Control-Max-Age", "600"),
    ]
    return response
  }

  private func origin(of fields: HTTPHeaders) -> String? {
    guard let origin = fields["Origin"] else { return nil }
    return allowed.contains("*") ? "*" : allowed.contains(origin) ? origin : nil
  }
}
