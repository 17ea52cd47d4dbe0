import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The CORS policy (the Fetch standard, section 3.2): no web page may call the server unless the operator allows its origin. Pages send
/// tokens themselves, so there are no cookies to steal.
struct CrossOrigin: Sendable {
  /// Origins such as `https://app.example.org`, or `*`.
  let allowed: TextSet

  /// The CORS headers of any answer. `Vary` is present even without an origin, because caches must store the answers separately.
  ///
  /// - Parameter fields: the header fields of the request.
  func headers(of fields: HTTPHeaders) -> [(name: String, value: String)] {
    if allowed.isEmpty { return [] }
    guard let origin = origin(of: fields) else { return [("Vary", "Origin")] }
    return [
      ("Access-Control-Allow-Origin", origin), ("Vary", "Origin"),
      (
        "Access-Control-Expose-Headers",
        "ETag, Link, Location, Last-Modified, Retry-After, Allow, Accept, Accept-Encoding, Accept-Patch, IM, Preference-Applied, Idempotency-Replayed, X-Request-ID, Repr-Digest, Content-Range"
      ),
    ]
  }

  /// Answers `OPTIONS`, including the preflight request of a browser.
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
        "Authorization, Content-Type, Content-Encoding, If-Match, If-None-Match, If-Modified-Since, If-Range, Range, A-IM, Prefer, Last-Event-ID, X-Client-Request-ID, Idempotency-Key, traceparent"
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
