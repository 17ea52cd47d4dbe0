import HoldfastCore
import HoldfastHTTP
import HoldfastService

extension API {
  /// `POST /v1/accounts`.
  func signUp(_ request: HTTPRequest) throws -> Step {
    if !allowsSignUp { throw Problem(.signUpClosed) }
    try requireJSON(request)
    let (name, password, device) = try Credentials(body: request.body, allowsDeviceID: false).complete()
    try Credentials.checkNewName(name)
    try Credentials.checkNewPassword(password)
    let address = IPAddress(request.remoteAddress)?.network ?? request.remoteAddress
    try signUps.take(address, at: environment.measured())
    // A name that is taken costs no hash.
    if try read({ try $0.store.account(name) }) != nil { throw Problem(.nameTaken) }
    return .signUp { [self] in
      guard let hash = environment.passwords.hash(password) else {
        return .problem(Problem(.busy, retryAfter: 5))
      }
      let token = makeToken(random: environment.random)
      let signUp = SignUp(name: name, password: hash, device: device, token: TokenHash(of: token))
      return .write(.signUp(signUp)) { Self.session($0, token: token, status: 201) }
    }
  }

  /// `POST /v1/sessions`. An unknown name costs as much as a wrong password.
  func signIn(_ request: HTTPRequest) throws -> Step {
    try requireJSON(request)
    let credentials = try Credentials(body: request.body, allowsDeviceID: true)
    if let (token, device) = try credentials.byToken() { return try signIn(token, device, credentials) }
    let (name, password, device) = try credentials.complete()
    let attempt = try guesses.begin(name: name, address: request.remoteAddress, at: environment.measured())
    return .password { [self] in
      do {
        let account = try read { try $0.store.account(name) }
        let stored = try verify(password, against: account?.password, attempt)
        guard let account else { throw Problem(.credentialsWrong) }
        try signIns.take(account.id, at: environment.measured())
        let token = makeToken(random: environment.random)
        let signIn = SignIn(
          user: account.id, password: stored, device: credentials.deviceID, session: credentials.session,
          deviceName: device,
          token: TokenHash(of: token))
        return .write(.signIn(signIn)) { Self.session($0, token: token, status: 200) }
      } catch { return .problem(problem(of: error)) }
    }
  }

  /// `GET /v1/users?name=NAME`: whom sharing with a name reaches.
  func lookUp(_ request: HTTPRequest) throws -> Step {
    try read { reader in
      let user = try device(of: request, reader).key.user
      let parameters = try QueryParameters(request)
      try parameters.requireOnly("name")
      guard let name = parameters["name"] else { throw Problem(.invalidRequest, "name is missing.") }
      try lookUps.take(user, at: environment.measured())
      guard !name.utf8.contains(0), let found = try reader.store.user(named: name) else {
        throw Problem(.notFound, "No user has this name.")
      }
      return .answer(
        .json(
          JSONValue.object([
            .init("id", .string(found.id)), .init("name", .string(found.name)),
            .init("issuer", found.issuer.map { .string($0) } ?? .null),
          ]).bytes))
    }
  }

  /// Compares a password with a stored one, if there is one; else it takes as long.
  ///
  /// - Returns: the stored one.
  /// - Throws: `Problem.credentialsWrong`.
  private func verify(
    _ password: String, against stored: String?, _ attempt: Guesses.Attempt
  ) throws(Problem) -> String {
    let stored = stored ?? ""
    let isRight = environment.passwords.verify(password, stored.isEmpty ? decoy : stored)
    guard isRight, !stored.isEmpty else {
      attempt.fail()
      throw Problem(.credentialsWrong)
    }
    attempt.succeed()
    return stored
  }

  /// `PUT /v1/account/password`.
  func changePassword(_ request: HTTPRequest) throws -> Step {
    let (key, account) = try read { reader in
      let key = try device(of: request, reader).key
      return (key, try reader.store.account(id: key.user))
    }
    try requireJSON(request)
    let body = try PasswordBody(request.body)
    guard let account else { throw Problem(.tokenInvalid) }
    let attempt = try guesses.begin(
      name: account.name, address: request.remoteAddress, at: environment.measured())
    return .password { [self] in
      do {
        let old = try verify(body.old, against: account.password, attempt)
        guard let new = environment.passwords.hash(body.new) else {
          return .problem(Problem(.busy, retryAfter: 5))
        }
        let change = PasswordChange(key: key, old: old, new: new, keepsSessions: body.keepsSessions)
        return .write(.changePassword(change), Self.done)
      } catch { return .problem(problem(of: error)) }
    }
  }

  /// `DELETE /v1/account`: docs/EXPORT-AND-ERASURE.md, section 2.
  func eraseAccount(_ request: HTTPRequest) throws -> Step {
    let (key, account) = try read { reader in
      let key = try device(of: request, reader).key
      return (key, try reader.store.account(id: key.user))
    }
    try requireJSON(request)
    let password = try readText("password", of: request.body)
    guard let account else { throw Problem(.tokenInvalid) }
    // Who is a provider's has none to show.
    if account.password.isEmpty { return .write(.erase(key, password: ""), Self.done) }
    guard let password else { throw Problem(.invalidRequest, "password is missing.") }
    let attempt = try guesses.begin(
      name: account.name, address: request.remoteAddress, at: environment.measured())
    return .password { [self] in
      do {
        let stored = try verify(password, against: account.password, attempt)
        return .write(.erase(key, password: stored), Self.done)
      } catch { return .problem(problem(of: error)) }
    }
  }

  static func session(_ result: Result<Outcome, Problem>, token: String, status: Int) -> HTTPResponse {
    switch result {
    case .failure(let problem): return .problem(problem)
    case .success(.done), .success(.rest), .success(.unfinished), .success(.membership), .success(.synced),
      .success(.purged), .success(.time):
      return .problem(Problem(.internalError))
    case .success(.session(let session)):
      var members: [JSONValue.Member] = [
        .init("user", ["id": .string(session.user), "name": .string(session.userName)]),
        .init(
          "device",
          [
            "id": .string(session.device), "name": .string(session.deviceName),
            "session": .integer(session.number),
          ]),
        .init("token", .string(token)),
      ]
      if let applied = session.applied { members.append(.init("applied", applied.json)) }
      return .json(status: status, JSONValue.object(members).bytes)
    }
  }
}
