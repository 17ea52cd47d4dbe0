import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The endpoints of accounts and sessions: PROTOCOL.md, section 2.
struct AccountRoutes {
  let api: API

  /// `POST /v1/accounts`.
  func signUp(_ request: HTTPRequest) throws -> Step {
    if !api.allowsSignUp { throw Problem(.signUpClosed) }
    try api.requireJSON(request)
    let (name, password, device) = try Credentials(body: request.body, allowsDeviceID: false).complete()
    try Credentials.checkNewName(name)
    try Credentials.checkNewPassword(password)
    let address = IPAddress.network(of: request.remoteAddress)
    try api.signUps.take(address, at: api.environment.measured())
    // A taken name is refused before the expensive hash.
    let isTaken = try api.read { reader in
      guard let account = try reader.store.account(name) else { return false }
      // The directory knows whether the name is that of a guest still.
      return try api.directory == nil || reader.store.home(ofGuest: account.id) == nil
    }
    if isTaken { throw Problem(.nameTaken) }
    return .signUp { [self] in
      guard let hash = api.environment.passwords.hash(password) else {
        return .problem(Problem(.busy, retryAfter: 5))
      }
      let token = makeToken(random: api.environment.random)
      let signUp = SignUp(name: name, password: hash, device: device, token: TokenHash(of: token))
      if let directory = api.directory { return claim(signUp, token, of: directory) }
      return .write(.signUp(signUp)) { Self.session($0, token: token, status: 201) }
    }
  }

  /// Claims the name in the directory before the account is made.
  private func claim(_ signUp: SignUp, _ token: String, of directory: Directory) -> Step {
    .fetch(.stranger) { [self] in
      do {
        let id = makeIdentifier(milliseconds: api.environment.now(), random: api.environment.random)
        switch try directory.claim(signUp.name, for: id) {
        case .taken: throw Problem(.nameTaken)
        case .elsewhere(nil): throw Self.closed
        case .elsewhere(let url?): throw Self.elsewhere(url)
        case .user(let id):
          var signUp = signUp
          signUp.claim = AccountClaim(user: id, at: api.environment.now())
          return .write(.signUp(signUp)) { Self.session($0, token: token, status: 201) }
        }
      } catch { return .problem(api.problem(of: error)) }
    }
  }

  static let closed = Problem(.signUpClosed, "No database takes new users.")

  static func elsewhere(_ url: String) -> Problem {
    var problem = Problem(.accountElsewhere)
    problem.url = url
    return problem
  }

  /// `POST /v1/sessions`. An unknown name takes as long as a wrong password.
  func signIn(_ request: HTTPRequest) throws -> Step {
    try api.requireJSON(request)
    let credentials = try Credentials(body: request.body, allowsDeviceID: true)
    if let (token, device) = try credentials.byToken() {
      return try Authentication(api: api).signIn(token, device, credentials)
    }
    if let (pass, device) = try credentials.byPass() {
      return try DirectoryRoutes(api: api).signIn(pass, device, credentials, from: request.remoteAddress)
    }
    let (name, password, device) = try credentials.complete()
    let attempt = try api.guesses.begin(
      name: name, address: request.remoteAddress, at: api.environment.measured())
    return .password { [self] in
      do {
        let account = try api.read { try $0.store.account(name) }
        if let directory = api.directory, account?.password.isEmpty ?? true {
          // As long as with a wrong password.
          _ = try? verify(password, against: nil, attempt)
          return .fetch(.stranger) { [self] in
            do {
              guard let url = try directory.address(ofHomeOf: name) else { throw Problem(.credentialsWrong) }
              throw Self.elsewhere(url)
            } catch { return .problem(api.problem(of: error)) }
          }
        }
        let stored = try verify(password, against: account?.password, attempt)
        guard let account else { throw Problem(.credentialsWrong) }
        try api.signIns.take(account.id, at: api.environment.measured())
        let token = makeToken(random: api.environment.random)
        let signIn = SignIn(
          user: account.id, password: stored, device: credentials.deviceID, session: credentials.session,
          deviceName: device,
          token: TokenHash(of: token))
        return .write(.signIn(signIn)) { Self.session($0, token: token, status: 200) }
      } catch { return .problem(api.problem(of: error)) }
    }
  }

  /// `GET /v1/users?name=NAME`: the user with a name, for sharing.
  func lookUp(_ request: HTTPRequest) throws -> Step {
    try api.read { reader in
      let user = try api.device(of: request, reader).key.user
      let parameters = try QueryParameters(request)
      try parameters.requireOnly("name")
      guard let name = parameters["name"] else { throw Problem(.invalidRequest, "name is missing.") }
      try api.lookUps.take(user, at: api.environment.measured())
      if name.utf8.contains(0) { throw Self.nobody }
      guard let found = try reader.store.user(named: name) else {
        guard let directory = api.directory else { throw Self.nobody }
        return DirectoryRoutes(api: api).lookUp(name, directory)
      }
      return .answer(.json(found.json.bytes))
    }
  }

  static let nobody = Problem(.notFound, "No user has this name.")

  /// Verifies a password. Without a stored one it takes as long.
  ///
  /// - Returns: the stored password hash.
  /// - Throws: `Problem.credentialsWrong`.
  private func verify(
    _ password: String, against stored: String?, _ attempt: Guesses.Attempt
  ) throws(Problem) -> String {
    let stored = stored ?? ""
    let passwords = api.environment.passwords
    let isRight = passwords.verify(password, stored.isEmpty ? passwords.decoy : stored)
    guard isRight, !stored.isEmpty else {
      attempt.fail()
      throw Problem(.credentialsWrong)
    }
    attempt.succeed()
    return stored
  }

  /// `PUT /v1/account/password`.
  func changePassword(_ request: HTTPRequest) throws -> Step {
    let (key, account) = try api.read { reader in
      let key = try api.device(of: request, reader).key
      try api.requireHome(of: key.user, reader)
      return (key, try reader.store.account(id: key.user))
    }
    try api.requireJSON(request)
    let body = try PasswordBody(request.body)
    guard let account else { throw Problem(.tokenInvalid) }
    let attempt = try api.guesses.begin(
      name: account.name, address: request.remoteAddress, at: api.environment.measured())
    return .password { [self] in
      do {
        let old = try verify(body.old, against: account.password, attempt)
        guard let new = api.environment.passwords.hash(body.new) else {
          return .problem(Problem(.busy, retryAfter: 5))
        }
        let change = PasswordChange(key: key, old: old, new: new, keepsSessions: body.keepsSessions)
        return .write(.changePassword(change), API.done)
      } catch { return .problem(api.problem(of: error)) }
    }
  }

  /// `DELETE /v1/account`: docs/EXPORT-AND-ERASURE.md, section 2.
  func eraseAccount(_ request: HTTPRequest) throws -> Step {
    let (key, account) = try api.read { reader in
      let key = try api.device(of: request, reader).key
      try api.requireHome(of: key.user, reader)
      return (key, try reader.store.account(id: key.user))
    }
    try api.requireJSON(request)
    let password = try readText("password", of: request.body)
    guard let account else { throw Problem(.tokenInvalid) }
    // A user of the identity provider has no password.
    if account.password.isEmpty { return .write(.erase(key, password: ""), API.done) }
    guard let password else { throw Problem(.invalidRequest, "password is missing.") }
    let attempt = try api.guesses.begin(
      name: account.name, address: request.remoteAddress, at: api.environment.measured())
    return .password { [self] in
      do {
        let stored = try verify(password, against: account.password, attempt)
        return .write(.erase(key, password: stored), API.done)
      } catch { return .problem(api.problem(of: error)) }
    }
  }

  static func session(_ result: Result<Outcome, Problem>, token: String, status: Int) -> HTTPResponse {
    switch result {
    case .failure(let problem): return .problem(problem)
    case .success(.done), .success(.rest), .success(.unfinished), .success(.membership), .success(.synced),
      .success(.pass), .success(.purged), .success(.time), .success(.ticket):
      return .problem(Problem(.internalError))
    case .success(.session(let session)):
      return .json(status: status, session.json(token: token))
    }
  }
}
