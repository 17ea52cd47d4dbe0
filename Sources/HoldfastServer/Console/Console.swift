import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The operators' console at `/console/`: its page, its sessions and its addresses. It only reads. docs/CONSOLE.md.
struct Console: Sendable {
  /// The rows of a page.
  static let pageSize = 50
  /// The rows of each listing of a recovery.
  private static let recoverySize = 200
  /// The maximum size of a request's body in bytes: a token.
  static let bodyLimit = 4096
  /// The maximum length of a name or an id in a request, in bytes.
  private static let textLimit = 256
  /// The name that wrong tokens are counted for. No user has it.
  private static let guessName = "\u{0}console"

  private let api: API
  private let session: ConsoleSession
  private let log: LogRing
  /// How long an unseen device is live.
  private let deviceLife: Int64
  private let location: DatabaseLocation
  private let note: @Sendable (String) -> Void

  /// - Parameters:
  ///   - log: the last lines of the log.
  ///   - deviceLife: how long an unseen device is live.
  ///   - location: the location of the database.
  ///   - note: logs a sign-in, or a wrong token.
  init(
    _ configuration: ConsoleConfiguration, _ api: API, _ log: LogRing, deviceLife: Duration,
    location: DatabaseLocation, note: @escaping @Sendable (String) -> Void
  ) {
    (self.api, self.log, self.note) = (api, log, note)
    (self.deviceLife, self.location) = (deviceLife.wholeMilliseconds, location)
    session = ConsoleSession(key: configuration.hash)
  }

  /// Whether a request is for the console.
  static func takes(_ request: HTTPRequest) -> Bool {
    request.path == "/console" || request.path.hasPrefix("/console/")
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
      return try answer(Array(parts.dropFirst(2)), request, server)
    } catch { return .problem(api.problem(of: error)) }
  }

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

  private func answer(
    _ parts: [String], _ request: HTTPRequest, _ server: @escaping @Sendable () -> ConsoleServer
  ) throws -> Step {
    if parts == ["session"] { return try changeSession(request) }
    guard request.method == "GET" else {
      return .answer(.problem(Problem(.methodNotAllowed), allow: "GET"))
    }
    try session.check(request, at: api.environment.now())
    let parameters = try QueryParameters(request)
    for text in parts + parameters.items.map(\.value)
    where text.utf8.count > Self.textLimit || text.utf8.contains(0) {
      throw Problem(.invalidRequest, "A name or id has at most \(Self.textLimit) bytes, and no U+0000.")
    }
    let query = try read(parts, parameters)
    if parts == ["log"] { return .answer(.json(lines.bytes)) }
    return .read { [self] in
      do {
        if parts == ["recovery"] { return .answer(.json(try recovery().bytes)) }
        guard let query else {
          return .answer(.json(server().json(api.database, at: api.environment.now()).bytes))
        }
        let now = api.clock.trusted.now()
        let answer = try api.database.readConsole { reader in
          try query(
            ConsoleAnswers(
              reader, limits: api.environment.limits, epoch: api.database.epoch, schema: api.schema, now: now,
              liveAfter: max(0, now.subtractingReportingOverflow(deviceLife).partialValue)))
        }
        return .answer(.json(answer.bytes))
      } catch { return .problem(api.problem(of: error)) }
    }
  }

  /// What `holdfast restore --report` prints, up to a number of rows.
  private func recovery() throws -> JSONValue {
    let administration = try Administration(api.database, location, environment: api.environment)
    func json(_ listing: Administration.Listing) -> JSONValue {
      [
        "columns": .array(listing.columns.map { .string($0) }), "count": .integer(Int64(listing.rows.count)),
        "rows": .array(
          listing.rows.prefix(Self.recoverySize).map { .array($0.map { JSONValue.string($0) }) }),
      ]
    }
    return [
      "claims": json(try administration.recoveryClaims()),
      "missing": json(try administration.restoreReport()),
    ]
  }

  /// What an address reads by `ConsoleAnswers`; nil for those that are answered otherwise.
  ///
  /// - Throws: `Problem`: `notFound` for an unknown address, `invalidRequest` for an unknown parameter.
  private func read(
    _ parts: [String], _ parameters: QueryParameters
  ) throws(Problem) -> (@Sendable (ConsoleAnswers) throws -> JSONValue)? {
    let (search, after) = (parameters["search"] ?? "", parameters["after"] ?? "")
    switch parts.count == 2 ? [parts[0], "*"] : parts {
    case ["server"], ["log"], ["recovery"]:
      try parameters.requireOnly()
      return nil
    case ["users"]:
      try parameters.requireOnly("search", "after")
      return { try $0.users(search, after: after) }
    case ["devices"]:
      try parameters.requireOnly("search", "after")
      let number = try parameters.number("after", in: 0...Int.max).map { Int64($0) } ?? 0
      return { try $0.devices(search, after: number) }
    case ["devices", "*"]:
      try parameters.requireOnly("after")
      return { [id = parts[1]] in try $0.device(id, after: after) }
    case ["zones"]:
      try parameters.requireOnly("search", "after")
      return { try $0.zones(search, after: after) }
    case ["zones", "*"]:
      try parameters.requireOnly("after")
      return { [name = parts[1]] in try $0.zone(name, after: after) }
    case ["records", "*"]:
      try parameters.requireOnly("device")
      return { [id = parts[1], device = parameters["device"]] in try $0.record(id, device: device) }
    case ["conflicts"]:
      try parameters.requireOnly("after")
      return { try $0.conflicts(before: after.isEmpty ? nil : after) }
    case ["refusals"]:
      try parameters.requireOnly("after")
      let place = after.split(separator: ".").map { Int64($0) }
      guard after.isEmpty || place.count == 2, let device = after.isEmpty ? 0 : place[0],
        let first = after.isEmpty ? 0 : place[1]
      else { throw Problem(.invalidRequest, "after is the `next` of the page before.") }
      return { try $0.refusals(afterDevice: device, afterFirst: first) }
    default: throw Problem(.notFound)
    }
  }

  private var lines: JSONValue {
    [
      "lines": .array(
        log.newestFirst.map { (try? JSONValue(parsing: Array($0.utf8))) ?? ["message": .string($0)] })
    ]
  }

  /// `POST` and `DELETE /console/api/session`.
  private func changeSession(_ request: HTTPRequest) throws -> Step {
    switch request.method {
    case "POST":
      try ConsoleSession.requireOwnPage(request)
      try api.requireJSON(request)
      guard let token = try readText("token", of: request.body) else {
        throw Problem(.invalidRequest, "token is missing.")
      }
      let attempt = try api.guesses.begin(
        name: Self.guessName, address: request.remoteAddress, at: api.environment.measured())
      guard session.isToken(token) else {
        attempt.fail()
        note("A wrong token came from \(request.remoteAddress).")
        throw Problem(.credentialsWrong, "This is not the console's token.")
      }
      attempt.succeed()
      note("An operator signed in from \(request.remoteAddress).")
      return .answer(
        Self.empty(session.begin(at: api.environment.now(), random: api.environment.random, for: request)))
    case "DELETE":
      try session.check(request, at: api.environment.now())
      return .answer(Self.empty(ConsoleSession.end(for: request)))
    default: return .answer(.problem(Problem(.methodNotAllowed), allow: "POST, DELETE"))
    }
  }

  private static func empty(_ cookie: String) -> HTTPResponse {
    HTTPResponse(status: 204, headers: [("Cache-Control", "no-store"), ("Set-Cookie", cookie)])
  }
}
