import HoldfastCore
import HoldfastHTTP

extension API {
  /// `POST /v1/accounts`.
  func signUp(_ request: HTTPRequest) throws -> Step {
    try requireJSON(request)
    let (name, password, device) = try Credentials(body: request.body, allowsDeviceID: false).complete()
    try Credentials.checkNewName(name)
    try Credentials.checkNewPassword(password)
    return .password { [self] in
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
    let (name, password, device) = try credentials.complete()
    return .password { [self] in
      do {
        let account = try read { try $0.store.account(name) }
        let stored = account?.password ?? decoy
        guard environment.passwords.verify(password, stored), let account else {
          return .problem(Problem(.credentialsWrong))
        }
        let token = makeToken(random: environment.random)
        let signIn = SignIn(
          user: account.id, password: stored, device: credentials.deviceID, session: credentials.session,
          deviceName: device,
          token: TokenHash(of: token))
        return .write(.signIn(signIn)) { Self.session($0, token: token, status: 200) }
      } catch { return .problem(problem(of: error)) }
    }
  }

  /// `POST /v1/devices`: one more device for the user of the token.
  func copyDevice(_ request: HTTPRequest) throws -> Step {
    let known = try read { try self.device(of: request, $0) }
    try requireJSON(request)
    let name = try Credentials.deviceName(body: request.body)
    let token = makeToken(random: environment.random)
    return .write(.copyDevice(known.key, name: name, token: TokenHash(of: token))) {
      Self.session($0, token: token, status: 201)
    }
  }

  /// `DELETE /v1/sessions/current`.
  func signOut(_ request: HTTPRequest) throws -> Step {
    let known = try read { try self.device(of: request, $0) }
    return .write(.signOut(known.key)) { result in
      switch result {
      case .success: .empty(status: 204)
      case .failure(let problem): .problem(problem)
      }
    }
  }

  private static func session(_ result: Result<Outcome, Problem>, token: String, status: Int) -> HTTPResponse
  {
    switch result {
    case .failure(let problem): return .problem(problem)
    case .success(.done), .success(.rest), .success(.forgot): return .problem(Problem(.internalError))
    case .success(.session(let session)):
      let body: JSONValue = [
        "user": ["id": .string(session.user), "name": .string(session.userName)],
        "device": [
          "id": .string(session.device), "name": .string(session.deviceName),
          "session": .integer(session.number),
        ],
        "token": .string(token),
      ]
      return .json(status: status, body.bytes)
    }
  }
}
