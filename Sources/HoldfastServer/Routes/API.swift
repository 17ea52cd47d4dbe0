import HoldfastConcurrency
import HoldfastCore
import HoldfastHTTP
import HoldfastSQLite
import HoldfastService
import Synchronization

/// The endpoints of PROTOCOL.md: turns a request into its next step. Shared by all HTTP threads.
final class API: Sendable {
  let schema: SyncSchema
  let environment: ServerEnvironment
  let clock: ServiceClock
  let database: any ServerDatabase
  let operations: OperationReader
  /// Encodes records for REST.
  let records: RecordWriter
  /// Nil if no folder is available.
  let snapshots: Snapshots?
  /// A cache of recently seen devices.
  let keys: DeviceKeys
  let hashes = TokenHashes()
  let log: @Sendable (String) -> Void
  /// The origins that may call from a browser.
  let crossOrigin: CrossOrigin
  /// Files for browsers.
  let web: WebFiles
  /// Counts wrong passwords.
  let guesses: Guesses
  /// Whether anyone may create an account with a password.
  let allowsSignUp: Bool
  let signUps: RateCount
  let signIns: RateCount
  let lookUps: RateCount
  /// Checks the JWTs of the identity provider; nil without one.
  let provider: IdentityProvider?
  /// The directory of the databases; nil without one.
  let directory: Directory?
  let members: MemberColumns
  private let schemaAnswer: HTTPResponse
  private let schemaWords: SchemaWords
  private let openAPIAnswer: Lazy<HTTPResponse>
  private let isStopping = Atomic<Bool>(false)
  /// The number of query-result ids that wait to be stored, and its limit.
  let waitingIDs = Atomic<Int>(0)
  static let waitingIDLimit = 2_000_000

  init(
    _ database: any ServerDatabase, clock: ServiceClock, environment: ServerEnvironment,
    snapshots: Snapshots?, crossOrigin: CrossOrigin = CrossOrigin(allowed: []), web: WebFiles = WebFiles(),
    guessLimit: Int = Guesses.defaultLimit, provider: IdentityProvider? = nil,
    directory: Directory? = nil, allowsSignUp: Bool? = nil, log: @escaping @Sendable (String) -> Void
  ) {
    schema = database.schema
    self.environment = environment
    keys = DeviceKeys(environment.measured)
    self.clock = clock
    self.log = log
    self.crossOrigin = crossOrigin
    self.web = web
    self.provider = provider
    self.directory = directory
    // Otherwise anyone could take the account name of a user of the provider.
    self.allowsSignUp = allowsSignUp ?? (provider == nil)
    guesses = Guesses(limit: guessLimit)
    signUps = RateCount(limit: environment.limits.signUpsInHour, of: "sign-ups from an address")
    signIns = RateCount(limit: environment.limits.sessionsInHour, of: "new sessions of a user")
    lookUps = RateCount(limit: environment.limits.lookUpsInHour, of: "look-ups")
    self.database = database
    self.snapshots = snapshots
    members = MemberColumns(schema)
    operations = OperationReader(schema: schema)
    records = RecordWriter(schema)
    schemaAnswer = Self.constant(schema.json.bytes)
    schemaWords = SchemaWords(schema)
    openAPIAnswer = Lazy { [schema] in Self.constant(OpenAPIDocument(schema).json.bytes) }
  }

  /// Counts the accounts that a request looks up by name: the answer to a new membership tells whether there is one, also where the membership is
  /// not kept.
  ///
  /// - Throws: `Problem.rateLimited`.
  func countNames(in operations: some Sequence<RecordOperation>, by key: DeviceKey) throws(Problem) {
    // A service token acts for the operator.
    if key.use.scope != nil { return }
    let count = operations.count { operation in
      operation.table == members.table && operation.kind == .create
        && operation.value(of: members.name)?.text != nil
    }
    if count > 0 { try lookUps.take(key.user, count, at: environment.measured()) }
  }

  /// Makes `/readyz` answer 503.
  func stop() { isStopping.store(true, ordering: .releasing) }

  /// Runs `body` with a reader of the database.
  func read<Result>(_ body: (SyncAnswers) throws -> Result) throws -> Result {
    try database.read { store in
      try body(
        SyncAnswers(
          store, answerSize: environment.answerSize, zoneLimit: environment.limits.zonesOfDevice,
          schemaWords))
    }
  }

  /// Whether the next step of a request is decided without the database.
  func isImmediate(_ request: HTTPRequest) -> Bool {
    guard let address = try? Address(of: request, in: schema), !address.isImmediate else { return true }
    switch address {
    case .sync, .changes:
      // Who is not known is looked up first, and so is the device of a JWT.
      guard let text = try? bearerText(of: request), provider == nil || !JWT.isMeant(by: text) else {
        return false
      }
      return keys[hashes[text]] != nil
    default: return false
    }
  }

  /// Does what reads a device: where reading waits for a network, together with others.
  func look(_ lookUp: LookUp, _ request: HTTPRequest, _ work: @escaping @Sendable () throws -> Step) throws
    -> Step
  {
    if database.readerCount == nil { return try work() }
    return .look(lookUp) { [self] in
      do { return try work() } catch { return .problem(problem(of: error, in: request)) }
    }
  }

  /// Handles a request: returns its answer or its next step.
  func handle(_ request: HTTPRequest) -> Step {
    do {
      let file = web.answer(to: request).map { Step.answer($0) }
      return checked(
        try file ?? Authentication(api: self).introduction(of: request) ?? route(request), request)
    } catch {
      if ReadLimit.current == .brief, database.isInterrupted(error) {
        return .read { [self] in handle(request) }
      }
      return .problem(problem(of: error, in: request))
    }
  }

  /// A step whose answer fits the preconditions of a request.
  private func checked(_ step: Step, _ request: HTTPRequest) -> Step {
    guard request.method == "GET" || request.method == "HEAD" else { return step }
    switch step {
    case .answer, .look:
      return step.answering { $0.status == 200 ? Preconditions(request).checked($0) : $0 }
    default: return step
    }
  }

  /// The client whose share of the queues a request uses.
  func client(of request: HTTPRequest) -> Client {
    guard let text = try? bearerText(of: request) else { return .at(request.remoteAddress) }
    let hash = hashes[text]
    if let key = keys[hash] { return .user(key.user) }
    // A service of the team may send JWTs of many users from one address.
    return provider != nil && JWT.isMeant(by: text) ? .token(hash) : .at(request.remoteAddress)
  }

  func route(_ received: HTTPRequest) throws -> Step {
    var request = received
    if request.target == "*" {
      return .answer(crossOrigin.options(request, methods: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"))
    }
    let address = try Address(of: request, in: schema)
    let methods = address.methods(in: schema)
    guard methods.contains(request.method) else {
      return .answer(.problem(Problem(.methodNotAllowed), allow: methods.joined(separator: ", ")))
    }
    if request.method == "OPTIONS" {
      return .answer(crossOrigin.options(request, methods: methods.joined(separator: ", ")))
    }
    if !request.accepts(address.mediaType) { throw Problem(.notAcceptable, address.mediaType) }
    // HEAD is handled as GET; the HTTP layer omits the body.
    if request.method == "HEAD" { request.method = "GET" }
    let step = try step(for: request, at: address, isHead: received.method == "HEAD")
    return SessionCookie.keep(step, of: request, at: address, hashes)
  }

  /// Handles a request at an address that supports its method.
  private func step(for request: HTTPRequest, at address: Address, isHead: Bool) throws -> Step {
    let (accounts, devices, sharing) = (
      AccountRoutes(api: self), DeviceRoutes(api: self), SharingRoutes(api: self)
    )
    let (reading, writing, zones) = (RecordRoutes(api: self), WriteRoutes(api: self), ZoneRoutes(api: self))
    switch address {
    case .sync: return try SyncRoutes(api: self).sync(request)
    case .accounts: return try accounts.signUp(request)
    case .sessions:
      return try request.method == "DELETE"
        ? devices.endOtherSessions(request)
        : accounts.signIn(request)
    case .currentSession: return try devices.signOut(request)
    case .users: return try accounts.lookUp(request)
    case .passes: return try DirectoryRoutes(api: self).makePass(request)
    case .databases: return try DirectoryRoutes(api: self).databases(request)
    case .devices:
      return try request.method == "GET"
        ? devices.devices(request) : devices.copyDevice(request)
    case .pushToken: return try devices.setPushToken(request)
    case .device(let id): return try devices.revoke(request, device: id)
    case .account: return try accounts.eraseAccount(request)
    case .password: return try accounts.changePassword(request)
    case .export(let table): return try ExportRoutes(api: self).export(request, table: table)
    case .events: return try EventRoutes(api: self).events(request)
    case .eventTickets: return try EventRoutes(api: self).makeTicket(request)
    case .records(let table):
      if request.method != "GET" { return try writing.change(request, at: .table(table)) }
      return try request.queryValue("ids") != nil
        ? reading.records(request, table)
        : reading.index(request, table: table, keepsResult: !isHead)
    case .record(let table, let id):
      return try request.method == "GET"
        ? reading.record(request, table, id)
        : writing.change(request, at: .record(table, id))
    case .restoration(let table, let id):
      return try writing.change(request, at: .restoration(table, id))
    case .resolution(let id): return try writing.change(request, at: .resolution(id))
    case .batch: return try writing.change(request, at: .batch)
    case .snapshot(let zone): return try SnapshotRoutes(api: self).snapshot(request, of: zone)
    case .schema: return .answer(schemaAnswer)
    case .openAPI: return .answer(openAPIAnswer.value)
    case .health: return .answer(.json(Array("{\"status\":\"ok\"}".utf8)))
    case .readiness: return readiness()
    case .zones: return try zones.zones(request)
    case .invitations(let zone):
      return try request.method == "GET"
        ? sharing.invitations(request, to: zone)
        : sharing.invite(request, to: zone)
    case .invitation(let zone, let id):
      return try sharing.revokeInvitation(request, id, to: zone)
    case .acceptance: return try sharing.accept(request)
    case .invitationLook: return try sharing.lookAtInvitation(request)
    case .memberships: return try sharing.memberships(request)
    case .membership(let id): return try sharing.declineMembership(request, id)
    case .membershipAcceptance(let id): return try sharing.acceptMembership(request, id)
    case .ownMembership(let zone): return try sharing.leave(request, zone: zone)
    case .grants(let zone): return try sharing.grants(request, of: zone)
    case .grant(let zone, let id): return try sharing.withdrawGrant(request, id, of: zone)
    case .blocks: return try sharing.blocks(request)
    case .block(let user): return try sharing.setBlock(request, user: user)
    case .changes(let zone): return try zones.changes(request, zone: zone)
    }
  }

  private func readiness() -> Step {
    if isStopping.load(ordering: .acquiring) {
      return .problem(Problem(.busy, "The server is stopping.", retryAfter: 5))
    }
    return .write(.probe) { result in
      switch result {
      case .success: .json(Array("{\"status\":\"ready\"}".utf8))
      // 503, whatever the reason for the failed write.
      case .failure(let problem): .problem(Problem(.busy, problem.code.title, retryAfter: 5))
      }
    }
  }

  /// A public answer that is constant while the server runs.
  private static func constant(_ body: [UInt8]) -> HTTPResponse {
    HTTPResponse(
      status: 200,
      headers: [
        ("ETag", RecordRoutes.tag(of: body).text), ("Content-Type", "application/json"),
        ("Cache-Control", "no-cache"),
      ], body: body)
  }

  // MARK: Shared by all addresses

  /// What a request is answered with that failed. Who sent it comes before what was wrong with it; that its body is no JSON, before what the JSON
  /// lacks: whatever was found first.
  func problem(of error: any Error, in request: HTTPRequest) -> Problem {
    let problem = problem(of: error)
    guard (400..<500).contains(problem.code.status), problem.code.status != 401 else { return problem }
    do {
      if Authentication(api: self).takesToken(request) { try read { _ = try anyDevice(of: request, $0) } }
      if [400, 422].contains(problem.code.status), problem.code != .malformedJSON, !request.body.isEmpty {
        // Deeper than any valid body. The depth was checked before.
        try JSONReader.read(request.body, maximumDepth: 128) { try $0.skipValue() }
      }
    } catch let error as JSONError { return Problem(.malformedJSON, error.description) } catch {
      return self.problem(of: error)
    }
    return problem
  }

  /// The problem for an error.
  func problem(of error: any Error) -> Problem {
    if let problem = error as? Problem { return problem }
    if (error as? SQLiteError)?.code.primary == .full { return Problem(.storageFull) }
    log("A request failed: \(error)")
    if database.isInterrupted(error) {
      return Problem(.busy, "Reading took too long. Filter more, or ask for less.", retryAfter: 10)
    }
    return database.isUnavailable(error) ? Problem(.busy, retryAfter: 5) : Problem(.internalError)
  }

  /// The device that sends the request, with a session token. Service tokens and JWTs are refused.
  ///
  /// - Throws: `Problem`: `tokenMissing`, `tokenInvalid` or `tokenLimited`.
  func device(of request: HTTPRequest, _ reader: SyncAnswers) throws -> KnownDevice {
    let device = try anyDevice(of: request, reader)
    guard case .session = device.key.use else { throw Problem(.tokenLimited) }
    return device
  }

  /// The sender of a REST request, and a reader limited to the token's scope.
  ///
  /// - Throws: `Problem`: `tokenMissing` or `tokenInvalid`.
  func sender(of request: HTTPRequest, _ reader: SyncAnswers) throws -> (
    key: DeviceKey, store: any StoreReader
  ) {
    let key = try anyDevice(of: request, reader).key
    guard let scope = key.use.scope else { return (key, reader.store) }
    return (key, ScopedReader(reader.store, scope, schema))
  }

  /// The device of the request's token, of any kind.
  func anyDevice(of request: HTTPRequest, _ reader: SyncAnswers) throws -> KnownDevice {
    let bearer = try Authentication(api: self).bearer(of: request)
    guard var device = try reader.store.device(bearer.hash) else {
      keys.remove(bearer.hash)
      throw Problem(.tokenInvalid)
    }
    if let issuedAt = bearer.issuedAt { device.key.use = .provider(issuedAt: issuedAt) }
    guard let rest = rest(of: device) else {
      keys.remove(bearer.hash)
      throw Problem(.tokenInvalid)
    }
    keys.insert(device.key, for: rest)
    return device
  }

  /// For how many milliseconds a device's token is good without being looked up again; nil when it is not.
  private func rest(of device: KnownDevice) -> Int64? {
    device.sessionRest(environment.limits, at: clock.trusted.now())
  }

  /// Whether the token of a session, or of a program, is good.
  func isGood(_ device: KnownDevice) -> Bool { rest(of: device) != nil }

  /// The device key for the writes of a REST request. The writer checks the device again.
  func writer(of request: HTTPRequest) throws -> DeviceKey {
    let bearer = try Authentication(api: self).bearer(of: request)
    guard var key = keys[bearer.hash] else {
      return try read { try anyDevice(of: request, $0).key }
    }
    if let issuedAt = bearer.issuedAt { key.use = .provider(issuedAt: issuedAt) }
    return key
  }

  /// The text behind `Bearer`, or that of the cookie.
  func bearerText(of request: HTTPRequest) throws(Problem) -> Substring {
    guard let header = request.headers["Authorization"] else {
      return try SessionCookie.token(of: request, hashes)
    }
    // Compared by bytes for speed, as it runs for every request. Setting bit 5 lower-cases a letter.
    let scheme: StaticString = "bearer "
    var field = header
    let isBearer = field.withUTF8 { field in
      scheme.withUTF8Buffer { scheme in
        field.count > scheme.count && zip(field, scheme).allSatisfy { $0 | 0x20 == $1 }
      }
    }
    guard isBearer else { throw Problem(.tokenMissing) }
    return Substring(header.utf8.dropFirst(scheme.utf8CodeUnitCount))
  }

  /// Checks that the content type of a body is JSON.
  ///
  /// - Parameter orPatch: whether a JSON merge patch is valid too.
  /// - Throws: `Problem.unsupportedMediaType`.
  func requireJSON(_ request: HTTPRequest, orPatch: Bool = false) throws(Problem) {
    guard let type = request.headers["Content-Type"] else { throw Problem(.unsupportedMediaType) }
    if type == "application/json" { return }
    let essence = type.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
    if orPatch, essence == "application/merge-patch+json" { return }
    if essence != "application/json" { throw Problem(.unsupportedMediaType) }
  }

  /// The 204 answer to a successful write without content.
  @Sendable static func done(_ result: Result<Outcome, Problem>) -> HTTPResponse {
    switch result {
    case .success: .empty(status: 204)
    case .failure(let problem): .problem(problem)
    }
  }
}
