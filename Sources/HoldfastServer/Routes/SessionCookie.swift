import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The session of a web page in a cookie that scripts cannot read: PROTOCOL.md, section 2.1.
///
/// A page asks for it with the field `Holdfast-Session: cookie`, and sends `Holdfast-Session: cookie ID` with each request. Pages of other origins cannot
/// send it without a preflight, which never allows it. That, `SameSite=Strict` and the check of the origin each stop a forged request.
///
/// All pages of an origin have one cookie. The id of its token shows that no other session has taken the place of the page's own, which would get the
/// edits of another user.
enum SessionCookie {
  static let name = "holdfast_session"
  /// In seconds, from the last sync.
  static let lifetime = 7 * 86400

  /// The id behind `cookie` in the field of a request, empty where the page asks for a cookie; nil without the field.
  private static func id(in request: HTTPRequest) -> Substring? {
    guard let field = request.headers["Holdfast-Session"], field.hasPrefix("cookie") else { return nil }
    let rest = field.dropFirst("cookie".count)
    return rest.isEmpty ? rest : rest.first == " " ? rest.dropFirst() : nil
  }

  /// The id of a token: the first half of the SHA-256 hash that the server stores.
  static func id(of hash: TokenHash) -> String { hash.withBytes { hexadecimal($0.prefix(16)) } }

  /// The token in the cookie of a request.
  ///
  /// - Throws: `Problem.tokenMissing` when there is none, or another origin's page may have sent it; `Problem.tokenInvalid` for that of another session.
  static func token(of request: HTTPRequest, _ hashes: TokenHashes) throws(Problem) -> Substring {
    guard let token = value(name, of: request) else { throw Problem(.tokenMissing) }
    guard let id = id(in: request), !id.isEmpty else {
      throw Problem(
        .tokenMissing,
        "Send Holdfast-Session: cookie, a space and the token_id of the sign-in with each request that relies on the cookie."
      )
    }
    guard isOfOwnOrigin(request) else {
      throw Problem(.tokenMissing, "The cookie is valid for pages of the server's own origin only.")
    }
    guard id == self.id(of: hashes[token]) else {
      throw Problem(.tokenInvalid, "The cookie is of another session: somebody has signed in here since.")
    }
    return token
  }

  /// The value of a cookie of a request. Nil without one, and for several of the name: one of them may be of somebody else.
  static func value(_ name: String, of request: HTTPRequest) -> Substring? {
    let prefix = "\(name)="
    let values = request.headers.values(of: "Cookie").flatMap { $0.split(separator: ";") }
      .map { $0.drop { $0 == " " } }.filter { $0.hasPrefix(prefix) }
    return values.count == 1 ? values[0].dropFirst(prefix.count) : nil
  }

  /// Whether the browser says that the page is of this server's origin, as far as it says anything.
  static func isOfOwnOrigin(_ request: HTTPRequest) -> Bool {
    if let site = request.headers["Sec-Fetch-Site"] { return site == "same-origin" }
    guard let origin = request.headers["Origin"] else { return true }
    // A proxy may have replaced the host.
    let hosts = [request.headers["X-Forwarded-Host"], request.headers["Host"]].compactMap { $0 }
    return hosts.contains { origin == "https://\($0)" || origin == "http://\($0)" }
  }

  /// A step that keeps the token of its answer in the cookie, keeps the cookie for longer, or ends it.
  static func keep(_ step: Step, of request: HTTPRequest, at address: Address, _ hashes: TokenHashes) -> Step
  {
    if id(in: request) == nil { return step }
    switch (request.method, address) {
    case ("POST", .accounts), ("POST", .sessions), ("POST", .devices):
      return step.answering { moved($0, of: request) }
    case ("POST", .sync):
      guard let token = try? token(of: request, hashes) else { return step }
      return step.answering { $0.status == 200 ? $0.with(cookie(String(token), lifetime, request)) : $0 }
    case ("DELETE", .currentSession):
      return step.answering { $0.status == 204 ? $0.with(cookie("", 0, request)) : $0 }
    default: return step
    }
  }

  /// The answer of a new session, with its token in the cookie, and the token's id in the content.
  private static func moved(_ response: HTTPResponse, of request: HTTPRequest) -> HTTPResponse {
    guard (200..<300).contains(response.status), let session = try? JSONValue(parsing: response.body),
      let token = session["token"]?.stringValue
    else { return response }
    var moved = response.with(cookie(token, lifetime, request))
    let members = (session.members ?? []).map { member in
      member.name == "token" ? JSONValue.Member("token_id", .string(id(of: TokenHash(of: token)))) : member
    }
    moved.body = JSONValue.object(members).bytes
    return moved
  }

  private static func cookie(_ token: String, _ lifetime: Int, _ request: HTTPRequest) -> String {
    field(name: name, token, path: "/v1", lifetime: Int64(lifetime), for: request)
  }

  /// A `Set-Cookie` that scripts cannot read, and other sites cannot send.
  ///
  /// - Parameter lifetime: in seconds; 0 removes the cookie.
  static func field(
    name: String, _ value: String, path: String, lifetime: Int64, for request: HTTPRequest
  ) -> String {
    // Behind a proxy that ends TLS, the browser names the origin, or the proxy the scheme.
    let isSecure =
      request.isSecure || request.headers["Origin"]?.hasPrefix("https:") == true
      || request.headers["X-Forwarded-Proto"] == "https"
    return
      "\(name)=\(value); Path=\(path); Max-Age=\(lifetime); HttpOnly; SameSite=Strict\(isSecure ? "; Secure" : "")"
  }
}

extension HTTPResponse {
  fileprivate func with(_ cookie: String) -> HTTPResponse {
    var response = self
    response.headers.append(("Set-Cookie", cookie))
    return response
  }
}
