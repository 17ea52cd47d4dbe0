import HoldfastCore
import HoldfastHTTP
import HoldfastService

// Source: docs/SHARING.md, section 2.
/// The addresses of invitations, memberships, groups and blocks: docs/SHARING.md.
struct SharingRoutes {
  let api: API

  /// `POST /v1/zones/{zone}/invitations`.
  func invite(_ request: HTTPRequest, to zone: String) throws -> Step {
    let key = try api.read { try api.device(of: request, $0).key }
    try api.requireJSON(request)
    let body = try InvitationBody(request.body)
    let now = api.environment.now()
    let invitation = Invitation(
      id: makeIdentifier(milliseconds: now, random: api.environment.random), zone: zone, role: body.role,
      inviter: key.user, expiresAt: now + body.lifetime * 1000, uses: body.uses)
    let token = makeToken(random: api.environment.random)
    return .write(.invite(key, invitation, TokenHash(of: token))) { result in
      switch result {
      case .success: .json(status: 201, invitation.json(token: token).bytes)
      case .failure(let problem): .problem(problem)
      }
    }
  }

  /// `GET /v1/zones/{zone}/invitations`: those that have not expired, without their tokens.
  func invitations(_ request: HTTPRequest, to zone: String) throws -> Step {
    try api.read { reader in
      let key = try api.device(of: request, reader).key
      try QueryParameters(request).requireOnly()
      return .answer(
        .json(
          try SharingAnswers(reader.store, api.schema).invitations(
            to: zone, for: key.user, at: api.environment.now()
          ).bytes))
    }
  }

  /// `DELETE /v1/zones/{zone}/invitations/{id}`.
  func revokeInvitation(_ request: HTTPRequest, _ id: String, to zone: String) throws -> Step {
    .write(
      .revokeInvitation(try api.read { try api.device(of: request, $0).key }, id: id, zone: zone), API.done)
  }

  /// `POST /v1/invitations/accept`.
  func accept(_ request: HTTPRequest) throws -> Step {
    let key = try api.read { try api.device(of: request, $0).key }
    try api.requireJSON(request)
    let token = TokenHash(of: try InvitationBody.token(request.body))
    return .write(.accept(key, token), Self.membership)
  }

  /// `POST /v1/invitations/look`: to whomever has the token, what it would give.
  func lookAtInvitation(_ request: HTTPRequest) throws -> Step {
    try api.requireJSON(request)
    let token = TokenHash(of: try InvitationBody.token(request.body))
    return try api.read { reader in
      .answer(
        .json(
          try SharingAnswers(reader.store, api.schema).look(at: token, at: api.environment.now()).bytes))
    }
  }
}
