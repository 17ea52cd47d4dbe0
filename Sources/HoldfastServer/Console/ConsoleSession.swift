import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The operator's session, in a cookie that scripts cannot read: docs/CONSOLE.md, section 2.
///
/// The cookie is `END.NONCE.CODE`, or `END.NONCE.NAME.CODE` of an operator who may act, signed with the token's hash. So each node with the
/// same token takes it, nothing is stored, and another token ends all sessions.
struct ConsoleSession: Sendable {
  /// What a session may do.
  enum Right: Equatable {
    case read
    /// Read and act, under the name of a token.
    case act(String)
  }

  static let cookie = "holdfast_console"
  /// In seconds, from the sign-in.
  static let lifetime: Int64 = 3600

  /// The hash of the token that reads.
  private let key: [UInt8]
  private let operators: [ConsoleConfiguration.Operator]

  init(_ configuration: ConsoleConfiguration) {
    (key, operators) = (configuration.hash, configuration.operators)
  }

  /// Whether anybody may act.
  var hasOperators: Bool { !operators.isEmpty }

  /// The right of a token, found in a time that does not tell how much of it is right; nil for a wrong one.
  func right(of token: String) -> Right? {
    let hash = SHA256.hash(of: Array(token.utf8))
    var right: Right? = MessageCode.isSame(hash, key) ? .read : nil
    for known in operators where MessageCode.isSame(hash, known.key) { right = .act(known.name) }
    return right
  }

  /// The `Set-Cookie` of a new session.
  func begin(_ right: Right, at now: Int64, random: (Int) -> [UInt8], for request: HTTPRequest) -> String {
    var parts = [String(now + Self.lifetime * 1000), hexadecimal(random(16))]
    if case .act(let name) = right { parts.append(name) }
    parts.append(code(parts) ?? "")
    return Self.field(parts.joined(separator: "."), Self.lifetime, request)
  }

  /// The `Set-Cookie` that ends a session.
  static func end(for request: HTTPRequest) -> String { field("", 0, request) }

  /// Checks the session of a request.
  ///
  /// - Throws: `Problem.tokenMissing` without the cookie, or if another origin's page may have sent it; `tokenInvalid` for one that has ended.
  func check(_ request: HTTPRequest, at now: Int64) throws(Problem) -> Right {
    try Self.requireOwnPage(request)
    guard let value = SessionCookie.value(Self.cookie, of: request) else {
      throw Problem(.tokenMissing, "Sign in to the console with its token.")
    }
    let parts = value.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let signed = Array(parts.dropLast())
    guard (3...4).contains(parts.count), let code = code(signed),
      MessageCode.isSame(Array(parts[parts.count - 1].utf8), Array(code.utf8)), let end = Int64(parts[0]),
      now < end
    else { throw Problem(.tokenInvalid, "The session has ended. Sign in to the console again.") }
    return signed.count == 3 ? .act(signed[2]) : .read
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

  /// The signature of a session's end, nonce and operator; nil for an unknown operator. Each has a key of its own: who may read cannot sign as one
  /// who may act.
  private func code(_ parts: [String]) -> String? {
    guard parts.count == 3 else { return code(parts, "console", key) }
    return operators.first { TextKey($0.name) == TextKey(parts[2]) }.flatMap {
      code(parts, "console-actions", $0.key)
    }
  }

  private func code(_ parts: [String], _ purpose: String, _ key: [UInt8]) -> String {
    let text = ([purpose] + parts).joined(separator: ".")
    return hexadecimal(MessageCode(key: key).code(of: [Array(text.utf8)]))
  }

  private static func field(_ value: String, _ lifetime: Int64, _ request: HTTPRequest) -> String {
    SessionCookie.field(name: cookie, value, path: "/console", lifetime: lifetime, for: request)
  }
}
