import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The endpoints of passes and databases: docs/DIRECTORY.md.
struct DirectoryRoutes {
  let api: API

  private func directory() throws(Problem) -> Directory {
    if let directory = api.directory { return directory }
    throw Problem(.notFound, "This server has no directory of databases.")
  }

  /// A step that asks the directory.
  private func asking(
    _ asker: Step.Asker = .session, _ body: @escaping @Sendable () throws -> Step
  ) -> Step {
    .fetch(asker) { [self] in
      do { return try body() } catch { return .problem(api.problem(of: error)) }
    }
  }

  // MARK: Passes

  /// `POST /v1/passes`.
  func makePass(_ request: HTTPRequest) throws -> Step {
    let (key, account, rest) = try api.read { reader in
      let device = try api.device(of: request, reader)
      let rest = device.lifetimeRest(api.environment.limits, at: api.clock.trusted.now())
      return (device.key, try reader.store.account(id: device.key.user), rest)
    }
    let directory = try directory()
    try api.requireJSON(request)
    guard let target = try readText("database", of: request.body) else {
      throw Problem(.invalidRequest, "database is missing.")
    }
    guard DatabaseName.isValid(target) else {
      throw Problem(.notFound, "There is no database of this name. GET /v1/databases lists them.")
    }
    if target == directory.name {
      throw Problem(
        .invalidRequest, "This is the database \(target): the session that you have is good here.")
    }
    guard let account else { throw Problem(.tokenInvalid) }
    try api.signIns.take(key.user, at: api.environment.measured())
    // From here on the end of the session is told, whatever becomes of the pass.
    return .first(.notePass(key)) { [self] result in
      guard case .success(.pass(let device)) = result else { return .problem(Self.problem(in: result)) }
      return asking {
        let pass = makeToken(random: api.environment.random)
        let user = Resident(id: key.user, name: account.name)
        let url = try directory.addPass(
          TokenHash(of: pass), of: user, device: device, rest: rest, to: target)
        // A session that ended while the pass was made may have been told already.
        do { _ = try api.read { try api.device(of: request, $0) } } catch {
          try directory.dropPass(TokenHash(of: pass))
          throw error
        }
        let answer: JSONValue = [
          "pass": .string(pass), "url": .string(url), "expires_in": .integer(Directory.passLifetime),
        ]
        return .answer(.json(status: 201, answer.bytes))
      }
    }
  }

  /// `POST /v1/sessions` with a pass in place of name and password.
  func signIn(
    _ pass: String, _ device: String, _ credentials: Credentials, from address: String
  ) throws -> Step {
    guard let directory = api.directory else {
      throw Problem(
        .invalidRequest, "This server has no directory of databases: sign in with name and password.")
    }
    // An address that invents passes has to wait, as one that guesses passwords.
    let attempt = try api.guesses.begin(
      name: "pass \(pass)", address: address, at: api.environment.measured())
    let hash = TokenHash(of: pass)
    return asking(.stranger) { [self] in
      guard let found = try directory.pass(hash) else {
        attempt.fail()
        throw Problem(.passInvalid)
      }
      attempt.succeed()
      try api.signIns.take(found.user.id, at: api.environment.measured())
      let token = makeToken(random: api.environment.random)
      let signIn = GuestSignIn(
        user: found.user.id, name: found.user.name, home: found.home, homeDevice: found.device,
        length: min(directory.guestSession, found.rest), device: credentials.deviceID,
        session: credentials.session,
        deviceName: device, token: TokenHash(of: token))
      return .first(.signInAsGuest(signIn)) { [self] result in
        guard case .success(.session(let session)) = result else { return .problem(Self.problem(in: result)) }
        return take(hash, for: session, token: token, of: directory)
      }
    }
  }

  /// Uses the pass up when its session is stored. Nobody knows the session's token before: of two requests with one pass, one gets it, and what
  /// the home ends meanwhile finds either the pass or the session.
  private func take(_ hash: TokenHash, for session: NewSession, token: String, of directory: Directory)
    -> Step
  {
    .fetch(.begun) { [self] in
      var problem = Problem(.passInvalid)
      do {
        if try directory.takePass(hash) { return .answer(.json(session.json(token: token))) }
      } catch { problem = api.problem(of: error) }
      return .first(.withdrawGuest(session)) { [problem] _ in .problem(problem) }
    }
  }

  private static func problem(in result: Result<Outcome, Problem>) -> Problem {
    if case .failure(let problem) = result { problem } else { Problem(.internalError) }
  }

  // MARK: People of an identity provider

  /// How many names are tried for a new user.
  private static let nameLimit = 20

  /// Has the directory say who a person is whom this database does not know, before `body`.
  func knowing(
    _ proven: ProvenIdentity, _ body: @escaping @Sendable (ProvenIdentity) throws -> Step
  ) throws -> Step {
    guard let directory = api.directory, try api.read({ try $0.store.user(of: proven.identity) }) == nil
    else { return try body(proven) }
    return asking(.stranger) { [self] in
      let id = makeIdentifier(milliseconds: api.environment.now(), random: api.environment.random)
      var proven = proven
      for taken in 0..<Self.nameLimit {
        let name = proven.name(after: taken, random: api.environment.random)
        switch try directory.claim(name, for: id, identity: proven.identity) {
        case .nameTaken: continue
        case .elsewhere(nil): throw AccountRoutes.closed
        case .elsewhere(let url?): throw AccountRoutes.elsewhere(url)
        case .here: return try body(atHome(proven))
        case .claimed(let user, let name):
          if try api.read({ try $0.store.hasAccount(user) }) { return try body(atHome(proven)) }
          proven.name = name
          proven.claim = AccountClaim(user: user, at: api.environment.now())
          return try body(proven)
        }
      }
      throw Problem(.busy, retryAfter: 1)
    }
  }

  /// A person of whom the directory has an account here. Another request has made it; or the directory has not heard of its erasure; or a restore
  /// has lost it.
  private func atHome(_ proven: ProvenIdentity) throws -> ProvenIdentity {
    if try api.read({ try $0.store.user(of: proven.identity) }) != nil { return proven }
    throw Problem(
      .directoryUnavailable,
      "The directory has an account of this person that is not here. Where that stays, the operator runs holdfast directory check.",
      retryAfter: 5)
  }

  // MARK: Sharing by name

  /// Makes users known here, before a write shares with them.
  ///
  /// - Parameters:
  ///   - names: the names that new memberships have.
  ///   - write: is given the names of which nobody could say whether there is such a user.
  func knowing(_ names: TextSet, _ write: @escaping @Sendable (TextSet) -> Step) -> Step {
    guard let directory = api.directory, !names.isEmpty else { return write([]) }
    return .read { [self] in
      do {
        let unknown = try api.read { reader in
          try names.filter { try !$0.utf8.contains(0) && reader.store.user(named: $0) == nil }
        }
        return unknown.isEmpty ? write([]) : invite(TextSet(unknown), directory, write)
      } catch { return .problem(api.problem(of: error)) }
    }
  }

  private func invite(
    _ names: TextSet, _ directory: Directory, _ write: @escaping @Sendable (TextSet) -> Step
  ) -> Step {
    .fetch(.session) {
      // A directory that does not answer keeps back no other change set.
      guard let guests = try? directory.invite(names.sorted()) else { return write(names) }
      if guests.isEmpty { return write([]) }
      return .first(.addGuests(guests)) { result in
        // Otherwise the sharing would be refused for good.
        if case .failure(let problem) = result { return .problem(problem) }
        return write([])
      }
    }
  }

  /// `GET /v1/users` for a name that this database does not know.
  func lookUp(_ name: String, _ directory: Directory) -> Step {
    asking {
      guard let user = try directory.user(named: name) else { throw AccountRoutes.nobody }
      return .answer(.json(user.json.bytes))
    }
  }

  // MARK: Databases

  /// `GET /v1/databases`.
  func databases(_ request: HTTPRequest) throws -> Step {
    let (user, home) = try api.read { reader in
      let user = try api.device(of: request, reader).key.user
      try QueryParameters(request).requireOnly()
      return (user, try api.directory.map { try reader.store.home(ofGuest: user) ?? $0.name })
    }
    let directory = try directory()
    return asking {
      let databases = try directory.databases(of: user).map { database -> JSONValue in
        let isHome = database.name == home
        return [
          "name": .string(database.name), "url": .string(database.url), "is_home": .bool(isHome),
          "is_member": .bool(isHome || database.isGuest),
        ]
      }
      let answer: JSONValue = ["databases": .array(databases)]
      return .answer(.json(answer.bytes))
    }
  }
}

extension API {
  /// The names with which new memberships share, in a database of a directory.
  func names(in operations: some Sequence<RecordOperation>) -> TextSet {
    if directory == nil { return [] }
    return TextSet(
      operations.compactMap { operation in
        guard operation.table == members.table, operation.kind == .create,
          operation.value(of: members.user)?.text == nil
        else { return nil }
        return operation.value(of: members.name)?.text
      })
  }

  /// Requires that this database is a user's home.
  ///
  /// - Throws: `Problem.notAtHome`.
  func requireHome(of user: String, _ reader: SyncAnswers) throws {
    guard directory != nil, let home = try reader.store.home(ofGuest: user) else { return }
    throw Problem(.notAtHome, "The home is the database \(home).")
  }
}
