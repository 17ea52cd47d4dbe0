import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The operators' console at `/console/`: its page, its sessions and its addresses. docs/CONSOLE.md.
struct Console: Sendable {
  /// The rows of a page.
  static let pageSize = 50
  /// The maximum size of a request's body in bytes: a token, or an action.
  static let bodyLimit = 4096
  /// The maximum size of a schema to compare.
  static let schemaLimit = 1 << 20
  /// The maximum length of a name or an id in a request, in bytes.
  static let textLimit = 256
  /// The name that wrong tokens are counted for. No user has it.
  private static let guessName = "\u{0}console"

  let api: API
  /// The name of this node, for charts and the audit log.
  let node: String
  let samples = SampleRing()
  let doctor: ConsoleDoctor
  private let session: ConsoleSession
  private let log: LogRing
  private let retention: Retention
  private let location: DatabaseLocation
  private let note: @Sendable (String) -> Void

  /// - Parameters:
  ///   - log: the last lines of the log.
  ///   - retention: how long what is kept, and an unseen device is live.
  ///   - location: the location of the database.
  ///   - node: the name of this node.
  ///   - note: logs a sign-in, a wrong token or an action.
  init(
    _ configuration: ConsoleConfiguration, _ api: API, _ log: LogRing, retention: Retention,
    location: DatabaseLocation, node: String, note: @escaping @Sendable (String) -> Void
  ) {
    (self.api, self.log, self.note, self.node) = (api, log, note, node)
    (self.retention, self.location) = (retention, location)
    session = ConsoleSession(configuration)
    doctor = ConsoleDoctor(
      open: { try Administration(api.database, location, environment: api.environment) },
      now: api.environment.now)
  }

  /// Whether a request is for the console.
  static func takes(_ request: HTTPRequest) -> Bool {
    let path = request.path
    if path == "/console" || path.hasPrefix("/console/") { return true }
    // An escaped form names the same resource.
    return path.utf8.contains(UInt8(ascii: "%")) && request.pathParts?.first == "console"
  }

  /// Whether a text may be a name or an id.
  static func isText(_ text: String) -> Bool { text.utf8.count <= textLimit && !text.utf8.contains(0) }

  /// The time in milliseconds since 1970.
  var now: Int64 { api.environment.now() }

  /// The maximum size of a request's body: more only for who is signed in.
  func bodyLimit(of head: HTTPRequest) -> Int {
    let isSchema = head.path == "/console/api/schema" && (try? session.check(head, at: now)) != nil
    return isSchema ? Self.schemaLimit : Self.bodyLimit
  }

  /// Reads the database as of one moment.
  func read<Result>(_ body: (ConsoleAnswers) throws -> Result) throws -> Result {
    let now = api.clock.trusted.now()
    return try api.database.readConsole { reader in
      try body(
        ConsoleAnswers(
          reader, limits: api.environment.limits, epoch: api.database.epoch, schema: api.schema, now: now,
          liveAfter: max(
            0, now.subtractingReportingOverflow(retention.devices.wholeMilliseconds).partialValue)))
    }
  }

  /// Decides the next step of a request.
  ///
  /// - Parameter server: gives the state of this node.
  func handle(_ request: HTTPRequest, server: @escaping @Sendable () -> ConsoleServer) -> Step {
    do {
      guard let parts = request.pathParts, parts.count > 1 else {
        return .answer(
          HTTPResponse(status: 308, headers: [("Location", "/console/"), ("Cache-Control", "no-cache")]))
      }
      guard parts[1] == "api" else { return .answer(file(parts.dropFirst(), request)) }
      let address = Array(parts.dropFirst(2))
      if address == ["session"] { return try changeSession(request) }
      let methods = Self.methods[address.joined(separator: "/")] ?? ["GET"]
      guard methods.contains(request.method) else {
        return .answer(.problem(Problem(.methodNotAllowed), allow: methods.joined(separator: ", ")))
      }
      let right = try session.check(request, at: now)
      if request.method == "POST" { return try post(address, request, right) }
      return try answer(address, request, server)
    } catch { return .problem(api.problem(of: error)) }
  }

  /// The methods of the addresses that are not only read.
  private static let methods = TextMap([
    ("actions", ["POST"]), ("doctor", ["GET", "POST"]), ("schema", ["GET", "POST"]),
  ])

  private func file(_ parts: ArraySlice<String>, _ request: HTTPRequest) -> HTTPResponse {
    let path = parts.joined(separator: "/")
    guard let file = ConsoleFiles.files[path.isEmpty ? "index.html" : path] else {
      return .problem(Problem(.notFound))
    }
    guard request.method == "GET" || request.method == "HEAD" else {
      return .problem(Problem(.methodNotAllowed), allow: "GET, HEAD")
    }
    return Preconditions(request).checked(file)
  }

  // MARK: Reading

  private func answer(
    _ parts: [String], _ request: HTTPRequest, _ server: @escaping @Sendable () -> ConsoleServer
  ) throws -> Step {
    let parameters = try QueryParameters(request)
    for text in parts + parameters.items.map(\.value) where !Self.isText(text) {
      throw Problem(.invalidRequest, "A name or id has at most \(Self.textLimit) bytes, and no U+0000.")
    }
    if let query = try ConsoleAddress.query(parts, parameters, self) {
      return long { try read { try query($0) } }
    }
    try parameters.requireOnly()
    switch parts {
    case ["log"]: return .answer(.json(lines.bytes))
    case ["doctor"]: return .answer(.json(doctor.json.bytes))
    case ["server"]:
      return long { server().json(api.database, DiskFigures(location), at: now) }
    case ["attention"]: return long { try attention() }
    case ["recovery"]: return long { try Self.recovery(administration()) }
    case ["schema"]: return long { Self.json(of: api.database.schema) }
    case ["retention"]:
      return long { [retention] in
        Self.json(
          of: retention, api.environment.limits, server().metrics,
          clockWarning: try administration().clockWarning)
      }
    default: throw Problem(.notFound)
    }
  }

  /// A step that takes longer than other requests can wait.
  private func long(_ work: @escaping @Sendable () throws -> JSONValue) -> Step {
    .read {
      do { return .answer(.json(try work().bytes)) } catch { return .problem(api.problem(of: error)) }
    }
  }

  private func administration(_ author: AuditAuthor? = nil) throws -> Administration {
    try Administration(api.database, location, environment: api.environment, author: author)
  }

  /// What an operator should look at first.
  private func attention() throws -> JSONValue {
    var attention = ConsoleAttention(now: now)
    attention.look(at: DiskFigures(location))
    attention.look(at: log)
    attention.look(at: api.database.history)
    try read { try attention.look(at: $0) }
    try attention.look(at: administration())
    return ["items": .array(attention.items)]
  }

  private var lines: JSONValue {
    func json(_ lines: [String]) -> JSONValue {
      .array(lines.map { (try? JSONValue(parsing: Array($0.utf8))) ?? ["message": .string($0)] })
    }
    return ["lines": json(log.newestFirst), "warnings": json(log.warnings)]
  }

  // MARK: Acting

  private func post(_ parts: [String], _ request: HTTPRequest, _ right: ConsoleSession.Right) throws -> Step {
    switch parts {
    case ["doctor"]:
      try doctor.begin()
      return .answer(.json(status: 202, doctor.json.bytes))
    case ["schema"]:
      try api.requireJSON(request)
      return long { try Self.difference(of: api.database, to: request.body) }
    default: break
    }
    guard case .act(let name) = right else {
      throw Problem(
        .roleInsufficient,
        session.hasOperators
          ? "This session only reads. Sign in with a token of --console-actions."
          : "This console only reads. `holdfast serve --console-actions` lets operators act.")
    }
    try api.requireJSON(request)
    let action = try ConsoleAction(parsing: request.body)
    let author = AuditAuthor(name: name, node: node, address: request.remoteAddress)
    return long { [note] in
      let done = try action.perform(on: administration(author))
      note("\(name) acted from \(request.remoteAddress): \(action.name).")
      return ["done": .string(done)]
    }
  }

  // MARK: Sessions

  /// `GET`, `POST` and `DELETE /console/api/session`.
  private func changeSession(_ request: HTTPRequest) throws -> Step {
    switch request.method {
    case "GET":
      let right = try session.check(request, at: now)
      let name: JSONValue = if case .act(let name) = right { .string(name) } else { .null }
      return .answer(.json(JSONValue.object([.init("operator", name)]).bytes))
    case "POST":
      try ConsoleSession.requireOwnPage(request)
      try api.requireJSON(request)
      guard let token = try readText("token", of: request.body) else {
        throw Problem(.invalidRequest, "token is missing.")
      }
      let attempt = try api.guesses.begin(
        name: Self.guessName, address: request.remoteAddress, at: api.environment.measured())
      guard let right = session.right(of: token) else {
        attempt.fail()
        note("A wrong token came from \(request.remoteAddress).")
        throw Problem(.credentialsWrong, "This is not the console's token.")
      }
      attempt.succeed()
      let name = if case .act(let name) = right { "\(name), who may act," } else { "An operator" }
      note("\(name) signed in from \(request.remoteAddress).")
      return .answer(Self.empty(session.begin(right, at: now, random: api.environment.random, for: request)))
    case "DELETE":
      _ = try session.check(request, at: now)
      return .answer(Self.empty(ConsoleSession.end(for: request)))
    default: return .answer(.problem(Problem(.methodNotAllowed), allow: "GET, POST, DELETE"))
    }
  }

  private static func empty(_ cookie: String) -> HTTPResponse {
    HTTPResponse(status: 204, headers: [("Cache-Control", "no-store"), ("Set-Cookie", cookie)])
  }
}
