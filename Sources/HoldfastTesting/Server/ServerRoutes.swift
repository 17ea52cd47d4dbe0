import HoldfastCore
import HoldfastService

/// The addresses that a device uses: docs/PROTOCOL.md, sections 2 and 3.
struct ServerRoutes {
  private typealias Handler =
    @Sendable (ServerRoutes) -> (ServerRequest, [String]) throws -> ServerAnswer

  let process: ServerProcess

  private static let all: [(method: String, pattern: String, handler: Handler)] = [
    ("POST", "v1/sync", { $0.sync }), ("POST", "v1/accounts", { $0.signUp }),
    ("POST", "v1/sessions", { $0.signIn }), ("DELETE", "v1/sessions/current", { $0.signOut }),
    ("PUT", "v1/push-token", { $0.setPushToken }), ("DELETE", "v1/push-token", { $0.removePushToken }),
    ("POST", "v1/devices", { $0.copyDevice }), ("DELETE", "v1/account", { $0.eraseAccount }),
    ("GET", "v1/users", { $0.lookUp }), ("GET", "v1/memberships", { $0.memberships }),
    ("POST", "v1/memberships/*/accept", { $0.acceptMembership }),
    ("DELETE", "v1/memberships/*", { $0.declineMembership }),
    ("DELETE", "v1/zones/*/membership", { $0.leave }), ("GET", "v1/zones/*/grants", { $0.grants }),
    ("DELETE", "v1/zones/*/grants/*", { $0.withdraw }), ("GET", "v1/blocks", { $0.blocks }),
    ("PUT", "v1/blocks/*", { $0.block }), ("DELETE", "v1/blocks/*", { $0.unblock }),
    ("POST", "v1/zones/*/invitations", { $0.invite }), ("GET", "v1/zones/*/invitations", { $0.invitations }),
    ("DELETE", "v1/zones/*/invitations/*", { $0.revokeInvitation }),
    ("POST", "v1/invitations/accept", { $0.acceptInvitation }),
    ("POST", "v1/invitations/look", { $0.lookAtInvitation }),
  ]

  /// Answers a request. An address that no device uses is not found.
  func answer(_ request: ServerRequest) -> ServerAnswer {
    do {
      for route in Self.all where route.method == request.method {
        if let parts = request.matches(route.pattern) { return try route.handler(self)(request, parts) }
      }
      throw Problem(.notFound)
    } catch let problem as Problem {
      return ServerAnswer(problem)
    } catch {
      return ServerAnswer(Problem(.internalError, "\(error)"))
    }
  }

  private var now: Int64 { process.environment.now() }

  // MARK: Syncing

  /// Each request is written, also one that says nothing new.
  private func sync(_ request: ServerRequest, _: [String]) throws -> ServerAnswer {
    let known = try process.read { try device(of: request, $0) }
    let body = try SyncRequest(body: request.body, operations: process.operations)
    if body.schemaVersion < process.schema.oldestVersion {
      throw Problem(
        .appTooOld,
        "Its schema has version \(body.schemaVersion); the oldest that is served is \(process.schema.oldestVersion)."
      )
    }
    var command = try SyncCommand(body, body: request.body, key: known.key)
    if body.client != known.client { command.newClient = body.client }
    try command.requireAcknowledgements(from: known.acknowledgedRefusals)
    guard case .synced(let outcome) = try process.apply(.sync(command)) else {
      throw Problem(.internalError)
    }
    return try process.read { reader in
      try reader.store.moment {
        let device = try device(of: request, reader)
        return ServerAnswer(
          200,
          try reader.answer(
            body, of: device, zones: try reader.store.zones(of: device.key),
            clock: process.clock.now(milliseconds: now), now: process.clock.trusted.now(),
            outcome: outcome))
      }
    }
  }

  /// The device of the request's token.
  private func device(of request: ServerRequest, _ reader: SyncAnswers) throws -> KnownDevice {
    guard let token = request.token else { throw Problem(.tokenMissing) }
    guard let device = try reader.store.device(TokenHash(of: token)),
      device.sessionRest(process.environment.limits, at: process.clock.trusted.now()) != nil
    else { throw Problem(.tokenInvalid) }
    return device
  }

  private func key(of request: ServerRequest) throws -> DeviceKey {
    try process.read { try device(of: request, $0).key }
  }

  // MARK: Accounts

  private func signUp(_ request: ServerRequest, _: [String]) throws -> ServerAnswer {
    let (name, password, device) = try Credentials(body: request.body, allowsDeviceID: false).complete()
    try Credentials.checkNewName(name)
    try Credentials.checkNewPassword(password)
    if try process.read({ try $0.store.account(name) }) != nil { throw Problem(.nameTaken) }
    guard let hash = process.environment.passwords.hash(password) else { throw Problem(.busy, retryAfter: 5) }
    return try session(201) { token in
      .signUp(SignUp(name: name, password: hash, device: device, token: token))
    }
  }

  private func signIn(_ request: ServerRequest, _: [String]) throws -> ServerAnswer {
    let credentials = try Credentials(body: request.body, allowsDeviceID: true)
    if try credentials.byToken() != nil {
      throw Problem(
        .invalidRequest, "This server has no identity provider: sign in with name and password.")
    }
    let (name, password, device) = try credentials.complete()
    guard let account = try process.read({ try $0.store.account(name) }), !account.password.isEmpty,
      process.environment.passwords.verify(password, account.password)
    else { throw Problem(.credentialsWrong) }
    return try session(200) { token in
      .signIn(
        SignIn(
          user: account.id, password: account.password, device: credentials.deviceID,
          session: credentials.session, deviceName: device, token: token))
    }
  }

  private func copyDevice(_ request: ServerRequest, _: [String]) throws -> ServerAnswer {
    let key = try key(of: request)
    let name = try Credentials.deviceName(body: request.body)
    return try session(201) { .copyDevice(key, name: name, token: $0) }
  }

  private func session(_ status: Int, _ command: (TokenHash) -> ServiceCommand) throws -> ServerAnswer {
    let token = makeToken(random: process.environment.random)
    guard case .session(let session) = try process.apply(command(TokenHash(of: token))) else {
      throw Problem(.internalError)
    }
    return ServerAnswer(status, session.json(token: token))
  }

  private func signOut(_ request: ServerRequest, _: [String]) throws -> ServerAnswer {
    try done(.signOut(key(of: request)))
  }

  private func setPushToken(_ request: ServerRequest, _: [String]) throws -> ServerAnswer {
    try done(.setPushToken(key(of: request), try PushToken(body: request.body)))
  }

  private func removePushToken(_ request: ServerRequest, _: [String]) throws -> ServerAnswer {
    try done(.setPushToken(key(of: request), nil))
  }

  private func eraseAccount(_ request: ServerRequest, _: [String]) throws -> ServerAnswer {
    let key = try key(of: request)
    let password = try readText("password", of: request.body)
    guard let account = try process.read({ try $0.store.account(id: key.user) }) else {
      throw Problem(.tokenInvalid)
    }
    guard let password else { throw Problem(.invalidRequest, "password is missing.") }
    guard process.environment.passwords.verify(password, account.password) else {
      throw Problem(.credentialsWrong)
    }
    return try done(.erase(key, password: account.password))
  }

  private func lookUp(_ request: ServerRequest, _: [String]) throws -> ServerAnswer {
    _ = try key(of: request)
    guard let name = request.query.first(where: { $0.name == "name" })?.value else {
      throw Problem(.invalidRequest, "name is missing.")
    }
    guard !name.utf8.contains(0), let found = try process.read({ try $0.store.user(named: name) }) else {
      throw Problem(.notFound, "No user has this name.")
    }
    return ServerAnswer(200, found.json.bytes)
  }

  private func done(_ command: ServiceCommand) throws -> ServerAnswer {
    _ = try process.apply(command)
    return ServerAnswer(204)
  }
}

// MARK: Sharing. Source: docs/SHARING.md, sections 2 to 4.
extension ServerRoutes {
  private func sharing(_ body: (SharingAnswers) throws -> JSONValue) throws -> ServerAnswer {
    try process.read { reader in
      ServerAnswer(200, try body(SharingAnswers(reader.store, process.schema)).bytes)
    }
  }

  private func memberships(_ request: ServerRequest, _: [String]) throws -> ServerAnswer {
    let user = try key(of: request).user
    return try sharing { try $0.memberships(of: user) }
  }

  private func acceptMembership(_ request: ServerRequest, _ parts: [String]) throws -> ServerAnswer {
    try accept(.membership(key(of: request), .accept(parts[0])))
  }

  private func declineMembership(_ request: ServerRequest, _ parts: [String]) throws -> ServerAnswer {
    try done(.membership(key(of: request), .decline(parts[0])))
  }

  private func leave(_ request: ServerRequest, _ parts: [String]) throws -> ServerAnswer {
    try done(.membership(key(of: request), .leave(zone: parts[0])))
  }

  private func grants(_ request: ServerRequest, _ parts: [String]) throws -> ServerAnswer {
    let user = try key(of: request).user
    return try sharing { try $0.grants(of: parts[0], for: user) }
  }

  private func withdraw(_ request: ServerRequest, _ parts: [String]) throws -> ServerAnswer {
    try done(.membership(key(of: request), .withdraw(parts[1], group: parts[0])))
  }

  private func blocks(_ request: ServerRequest, _: [String]) throws -> ServerAnswer {
    let user = try key(of: request).user
    return try sharing { try $0.blocks(of: user) }
  }

  private func block(_ request: ServerRequest, _ parts: [String]) throws -> ServerAnswer {
    try done(.membership(key(of: request), .block(parts[0])))
  }

  private func unblock(_ request: ServerRequest, _ parts: [String]) throws -> ServerAnswer {
    try done(.membership(key(of: request), .unblock(parts[0])))
  }

  private func invite(_ request: ServerRequest, _ parts: [String]) throws -> ServerAnswer {
    let key = try key(of: request)
    let body = try InvitationBody(request.body)
    let now = now
    let invitation = Invitation(
      id: makeIdentifier(milliseconds: now, random: process.environment.random), zone: parts[0],
      role: body.role, inviter: key.user, expiresAt: now + body.lifetime * 1000, uses: body.uses)
    let token = makeToken(random: process.environment.random)
    _ = try process.apply(.invite(key, invitation, TokenHash(of: token)))
    return ServerAnswer(201, invitation.json(token: token).bytes)
  }

  private func invitations(_ request: ServerRequest, _ parts: [String]) throws -> ServerAnswer {
    let user = try key(of: request).user
    return try sharing { try $0.invitations(to: parts[0], for: user, at: now) }
  }

  private func revokeInvitation(_ request: ServerRequest, _ parts: [String]) throws -> ServerAnswer {
    try done(.revokeInvitation(key(of: request), id: parts[1], zone: parts[0]))
  }

  private func acceptInvitation(_ request: ServerRequest, _: [String]) throws -> ServerAnswer {
    let key = try key(of: request)
    return try accept(.accept(key, TokenHash(of: try InvitationBody.token(request.body))))
  }

  private func lookAtInvitation(_ request: ServerRequest, _: [String]) throws -> ServerAnswer {
    let token = TokenHash(of: try InvitationBody.token(request.body))
    return try sharing { try $0.look(at: token, at: now) }
  }

  private func accept(_ command: ServiceCommand) throws -> ServerAnswer {
    guard case .membership(let member, let isNew) = try process.apply(command) else {
      throw Problem(.internalError)
    }
    return ServerAnswer(isNew ? 201 : 200, member.json.bytes)
  }
}
