import HoldfastHTTP

/// Which web pages may call the server from a browser (the Fetch standard, section 3.2): none, unless the operator names their origins. Tokens
/// are sent by the page itself, so there are no cookies to be had.
struct CrossOrigin: Sendable {
  /// Origins such as `https://app.example.org`, or `*`.
  let allowed: Set<String>

  /// What is added to every answer to a page.
  func headers(of request: HTTPRequest) -> [(name: String, value: String)] {
    guard let origin = origin(of: request) else { return [] }
    return [
      ("Access-Control-Allow-Origin", origin), ("Vary", "Origin"),
      (
        "Access-Control-Expose-Headers",
        "ETag, Link, Location, Last-Modified, Retry-After, Allow, IM, Idempotency-Replayed, X-Request-ID, Repr-Digest, Content-Range"
      ),
    ]
  }

  /// Answers `OPTIONS`, with what a browser asks before it lets a page send a request.
  func options(_ request: HTTPRequest, methods: String) -> HTTPResponse {
    var response = HTTPResponse.empty(status: 204)
    response.headers.append(("Allow", methods))
    guard origin(of: request) != nil, request.headers["Access-Control-Request-Method"] != nil else {
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

  private func origin(of request: HTTPRequest) -> String? {
    if allowed.isEmpty { return nil }
    guard let origin = request.headers["Origin"] else { return nil }
    return allowed.contains("*") ? "*" : allowed.contains(origin) ? origin : nil
  }
}
