import HoldfastCore
import HoldfastHTTP
import HoldfastService

// Source: docs/SHARING.md, section 2.
/// The endpoints of invitations, memberships, groups and blocks: docs/SHARING.md.
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
      case .success: .json(status: 201, Self.json(of: invitation, token: token).bytes)
      case .failure(let problem): .problem(problem)
      }
    }
  }

  /// `GET /v1/zones/{zone}/invitations`: the valid invitations, without their tokens.
  func invitations(_ request: HTTPRequest, to zone: String) throws -> Step {
    try api.read { reader in
      let key = try api.device(of: request, reader).key
      try QueryParameters(request).requireOnly()
      guard let state = try reader.store.zone(zone, for: key.user), let role = Role(rawValue: state.role)
      else {
        throw Problem(.notFound)
      }
      if role < .owner { throw Problem(.roleInsufficient, "Invitations take the role owner.") }
      let now = api.environment.now()
      let known = try reader.store.invitations(to: zone).filter { $0.isGood(at: now) }
      let list = JSONValue.array(known.map { Self.json(of: $0, token: nil) })
      return .answer(.json(JSONValue.object([.init("invitations", list)]).bytes))
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

  /// `POST /v1/invitations/look`: shows the holder of a token what the invitation grants.
  func lookAtInvitation(_ request: HTTPRequest) throws -> Step {
    try api.requireJSON(request)
    let token = TokenHash(of: try InvitationBody.token(request.body))
    return try api.read { reader in
      try reader.store.transaction {
        guard let invitation = try reader.store.invitation(token),
          invitation.isGood(at: api.environment.now()),
          try reader.store.zone(invitation.zone, for: invitation.inviter)?.role == Role.owner.rawValue,
          let inviter = try reader.store.account(id: invitation.inviter)?.name,
          let title = try title(of: invitation.zone, reader.store)
        else { throw Problem(.invitationInvalid) }
        return .answer(
          .json(
            JSONValue.object([
              .init("role", .string(invitation.role.rawValue)),
              .init("expires_at", .string(Timestamp.text(milliseconds: invitation.expiresAt))),
              .init("title", title), .init("invited_by", .string(inviter)),
            ]).bytes))
      }
    }
  }

  /// The first text column of a zone's root record; null if it has none, and for a user's own zone. Nil if the zone has ended.
  func title(of zone: String, _ store: any StoreReader) throws -> JSONValue? {
    for (index, table) in api.schema.tables.enumerated() where table.zone == .root {
      guard case .live(let record, _)? = try store.records([zone], of: index, for: nil)[zone] else {
        continue
      }
      let column = table.columns.firstIndex { $0.type == .text }
      return column.flatMap { record.values[$0].text }.map { .string($0) } ?? .null
    }
    return try store.account(id: zone) == nil ? nil : .null
  }

  private static func json(of invitation: Invitation, token: String?) -> JSONValue {
    var members: [JSONValue.Member] = [.init("id", .string(invitation.id))]
    if let token { members.append(.init("token", .string(token))) }
    members += [
      .init("role", .string(invitation.role.rawValue)),
      .init("expires_at", .string(Timestamp.text(milliseconds: invitation.expiresAt))),
      .init("uses", .integer(invitation.uses)),
    ]
    return .object(members)
  }
}
