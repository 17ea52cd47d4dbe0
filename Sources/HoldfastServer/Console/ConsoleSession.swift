import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The operator's session, in a cookie that scripts cannot read: docs/CONSOLE.md, section 2.
///
/// The cookie is `END.NONCE.CODE`, signed with the token's hash. So each node with the same token takes it, nothing is stored, and another token
/// ends all sessions.
struct ConsoleSession: Sendable {
  static let cookie = "holdfast_console"
  /// In seconds, from the sign-in.
  static let lifetime: Int64 = 3600

  /// The hash of the token.
  let key: [UInt8]

  /// Whether a text is the token, in a time that does not tell how much of it is.
  func isToken(_ text: String) -> Bool { MessageCode.isSame(SHA256.hash(of: Array(text.utf8)), key) }

  /// The `Set-Cookie` of a new session.
  func begin(at now: Int64, random: (Int) -> [UInt8], for request: HTTPRequest) -> String {
    let (end, nonce) = (String(now + Self.lifetime * 1000), hexadecimal(random(16)))
    return Self.field("\(end).\(nonce).\(code(end, nonce))", Self.lifetime, request)
  }

  /// The `Set-Cookie` that ends a session.
  static func end(for request: HTTPRequest) -> String { field("", 0, request) }

  /// Checks the session of a request.
  ///
  /// - Throws: `Problem.tokenMissing` without the cookie, or if another origin's page may have sent it; `tokenInvalid` for one that has ended.
  func check(_ request: HTTPRequest, at now: Int64) throws(Problem) {
    try Self.requireOwnPage(request)
    guard let value = SessionCookie.value(Self.cookie, of: request) else {
      throw Problem(.tokenMissing, "Sign in to the console with its token.")
    }
    let parts = value.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, MessageCode.isSame(Array(parts[2].utf8), Array(code(parts[0], parts[1]).utf8)),
      let end = Int64(parts[0]), now < end
    else { throw Problem(.tokenInvalid, "The session has ended. Sign in to the console again.") }
  }

  /// Refuses requests that a page of another origin may have sent. Such a page cannot send the field without a preflight, which is never allowed.
  ///
  /// - Throws: `Problem.tokenMissing`.
  static func requireOwnPage(_ request: HTTPRequest) throws(Problem) {
    guard request.headers["Holdfast-Session"] == "console" else {
      throw Problem(.tokenMissing, "Send Holdfast-Session: console with each request.")
    }
    guard SessionCookie.isOfOwnOrigin(request) else {
      throw Problem(.tokenMissing, "The console is for pages of the server's own origin only.")
    }
  }

  private func code(_ end: String, _ nonce: String) -> String {
    hexadecimal(MessageCode(key: key).code(of: [Array("console.\(end).\(nonce)".utf8)]))
  }

  private static func field(_ value: String, _ lifetime: Int64, _ request: HTTPRequest) -> String {
    SessionCookie.field(name: cookie, value, path: "/console", lifetime: lifetime, for: request)
  }
}
