import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// Identifies the sender of a request.
struct Authentication {
  let api: API

  /// The identity that a request's Authorization field claims.
  struct Bearer {
    /// The hash of the session token. For a JWT: the key of the device that stands for its identity.
    let hash: TokenHash
    /// The issue time of a JWT, in milliseconds since 1970, 0 if absent; nil for a session token.
    var issuedAt: Int64?
  }

  /// - Throws: `Problem`: `tokenMissing`, or `tokenInvalid` for an invalid JWT.
  func bearer(of request: HTTPRequest) throws(Problem) -> Bearer {
    let text = try api.bearerText(of: request)
    guard let provider = api.provider, JWT.isMeant(by: text) else { return Bearer(hash: api.hashes[text]) }
    guard case .good(let claims) = provider.check(text, at: api.environment.now()) else {
      throw Problem(.tokenInvalid)
    }
    return Bearer(hash: claims.deviceKey, issuedAt: claims.issuedAt)
  }

  /// Whether a request needs a token. Sign-up, sign-in, a look at an invitation and a stream with a ticket ignore any token, which may
  /// have expired.
  func takesToken(_ request: HTTPRequest) -> Bool {
    guard let address = try? Address(of: request, in: api.schema) else { return false }
    return takesToken(request, at: address)
  }

  func takesToken(_ request: HTTPRequest, at address: Address) -> Bool {
    if request.method == "OPTIONS" || address.isImmediate
      || address == .events && EventRoutes.hasTicket(request)
    {
      return false
    }
    return request.method != "POST" || ![.accounts, .sessions, .invitationLook].contains(address)
  }

  /// The step that a request with a JWT needs first: a fetch of the provider's keys, or the creation of its device. Nil for other requests.
  func introduction(of request: HTTPRequest) throws -> Step? {
    guard let provider = api.provider, let text = try? api.bearerText(of: request), JWT.isMeant(by: text),
      takesToken(request)
    else { return nil }
    switch provider.check(text, at: api.environment.now()) {
    case .refused(let problem): throw problem
    case .needsKeys:
      return .fetch(.stranger) { [self] in
        provider.ask(at: api.environment.now())
        return api.handle(request)
      }
    case .good(let claims):
      let hash = claims.deviceKey
      if api.keys[hash] != nil { return nil }
      if try api.read({ try $0.store.device(hash) }) != nil { return nil }
      return try DirectoryRoutes(api: api).knowing(claims) { [self] claims in
        .first(.introduce(claims)) { [self] result in
          // If a concurrent request created the device, this command succeeds too.
          if case .failure(let problem) = result { return .problem(problem) }
          do { return try api.route(request) } catch { return .problem(api.problem(of: error, in: request)) }
        }
      }
    }
  }

  /// `POST /v1/sessions` with a JWT instead of name and password.
  func signIn(_ token: String, _ device: String, _ credentials: Credentials) throws -> Step {
    guard let provider = api.provider else {
      throw Problem(.invalidRequest, "This server has no identity provider: sign in with name and password.")
    }
    switch provider.check(token[...], at: api.environment.now()) {
    case .refused(let problem): throw problem
    case .needsKeys:
      return .fetch(.stranger) { [self] in
        provider.ask(at: api.environment.now())
        do { return try signIn(token, device, credentials) } catch { return .problem(api.problem(of: error)) }
      }
    case .good(let claims):
      try api.signIns.take(
        "\(claims.identity.issuer)\u{0}\(claims.identity.subject)", at: api.environment.measured())
      return try DirectoryRoutes(api: api).knowing(claims) { [self] claims in
        let token = makeToken(random: api.environment.random)
        let signIn = ProviderSignIn(
          proven: claims, device: credentials.deviceID, session: credentials.session, deviceName: device,
          token: TokenHash(of: token))
        return .write(.signInByProvider(signIn)) { AccountRoutes.session($0, token: token, status: 200) }
      }
    }
  }
}
