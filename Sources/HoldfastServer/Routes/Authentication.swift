import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// Who a request is from, and what is read of it before that is known.
struct Authentication {
  let api: API

  /// What a request carries to prove who it is from.
  struct Bearer {
    /// The hash of the device's token. Of a JWT: of the device that it stands for.
    let hash: TokenHash
    /// Of a JWT: when it was issued, in milliseconds since 1970, 0 when it does not say.
    var issuedAt: Int64?
  }

  /// - Throws: `Problem`: `tokenMissing`, or `tokenInvalid` for a JWT that is not good.
  func bearer(of request: HTTPRequest) throws(Problem) -> Bearer {
    let text = try api.bearerText(of: request)
    guard let provider = api.provider, JWT.isMeant(by: text) else { return Bearer(hash: TokenHash(of: text)) }
    guard case .good(let claims) = provider.check(text, at: api.environment.now()) else {
      throw Problem(.tokenInvalid)
    }
    return Bearer(hash: claims.deviceToken, issuedAt: claims.issuedAt)
  }

  /// Whether a request is of somebody. Who makes an account, signs in or looks at an invitation need not be anybody, whatever token comes along:
  /// it may be one whose time is over.
  func takesToken(_ request: HTTPRequest) -> Bool {
    guard let address = try? Address(of: request, in: api.schema) else { return false }
    return takesToken(request, at: address)
  }

  func takesToken(_ request: HTTPRequest, at address: Address) -> Bool {
    if request.method == "OPTIONS" || address.isImmediate { return false }
    return request.method != "POST" || ![.accounts, .sessions, .invitationLook].contains(address)
  }

  /// What has to be done first for a request with a JWT: to ask for the provider's keys, or to make a device for it; nil for all others.
  func introduction(of request: HTTPRequest) throws -> Step? {
    guard let provider = api.provider, let text = try? api.bearerText(of: request), JWT.isMeant(by: text),
      takesToken(request)
    else { return nil }
    switch provider.check(text, at: api.environment.now()) {
    case .refused(let reason): throw Problem(.tokenInvalid, reason)
    case .needsKeys:
      return .fetch { [self] in
        provider.ask(at: api.environment.now())
        return api.handle(request)
      }
    case .good(let claims):
      let hash = claims.deviceToken
      if api.keys[hash] != nil { return nil }
      if try api.read({ try $0.store.device(hash) }) != nil { return nil }
      let signIn = ProviderSignIn(
        identity: claims.identity, name: claims.name, device: nil, session: nil, deviceName: claims.client,
        token: hash, isForTokens: true)
      return .first(.signInByProvider(signIn)) { [self] result in
        // Another request may have made it at the same moment: then it is there.
        if case .failure(let problem) = result { return .problem(problem) }
        do { return try api.route(request) } catch { return .problem(api.problem(of: error, in: request)) }
      }
    }
  }

  /// `POST /v1/sessions` with a JWT in place of name and password.
  func signIn(_ token: String, _ device: String, _ credentials: Credentials) throws -> Step {
    guard let provider = api.provider else {
      throw Problem(.invalidRequest, "This server has no identity provider: sign in with name and password.")
    }
    switch provider.check(token[...], at: api.environment.now()) {
    case .refused(let reason): throw Problem(.tokenInvalid, reason)
    case .needsKeys:
      return .fetch { [self] in
        provider.ask(at: api.environment.now())
        do { return try signIn(token, device, credentials) } catch { return .problem(api.problem(of: error)) }
      }
    case .good(let claims):
      try api.signIns.take(
        "\(claims.identity.issuer)\u{0}\(claims.identity.subject)", at: api.environment.measured())
      let token = makeToken(random: api.environment.random)
      let signIn = ProviderSignIn(
        identity: claims.identity, name: claims.name, device: credentials.deviceID,
        session: credentials.session, deviceName: device, token: TokenHash(of: token), isForTokens: false)
      return .write(.signInByProvider(signIn)) { AccountRoutes.session($0, token: token, status: 200) }
    }
  }
}
