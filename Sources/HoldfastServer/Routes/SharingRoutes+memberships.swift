import HoldfastCore
import HoldfastHTTP
import HoldfastService

// Source: docs/SHARING.md, sections 2 and 3.
extension SharingRoutes {
  /// `GET /v1/memberships`: the memberships that wait for the user's consent.
  func memberships(_ request: HTTPRequest) throws -> Step {
    try api.read { reader in
      let user = try api.device(of: request, reader).key.user
      try QueryParameters(request).requireOnly()
      let found = try reader.store.transaction {
        try reader.store.pendingMemberships(of: user).compactMap { pending -> JSONValue? in
          // The zone has ended, so the membership is void.
          guard let title = try title(of: pending.zone, reader.store) else { return nil }
          return [
            "id": .string(pending.id), "zone": .string(pending.zone), "role": .string(pending.role),
            "title": title,
            "invited_by": ["id": .string(pending.inviter), "name": .string(pending.inviterName)],
          ]
        }
      }
      return .answer(.json(JSONValue.object([.init("memberships", .array(found))]).bytes))
    }
  }

  /// `POST /v1/memberships/{id}/accept`.
  func acceptMembership(_ request: HTTPRequest, _ id: String) throws -> Step {
    .write(.membership(try sessionKey(request), .accept(id)), Self.membership)
  }

  /// `DELETE /v1/memberships/{id}`: declines a pending membership.
  func declineMembership(_ request: HTTPRequest, _ id: String) throws -> Step {
    .write(.membership(try sessionKey(request), .decline(id)), API.done)
  }

  /// `DELETE /v1/zones/{zone}/membership`: leaves a zone.
  func leave(_ request: HTTPRequest, zone: String) throws -> Step {
    .write(.membership(try sessionKey(request), .leave(zone: zone)), API.done)
  }

  /// `GET /v1/zones/{zone}/grants`: the zones that use this one as a group of members.
  func grants(_ request: HTTPRequest, of group: String) throws -> Step {
    try api.read { reader in
      let user = try api.device(of: request, reader).key.user
      try QueryParameters(request).requireOnly()
      guard let role = try reader.store.ownRole(of: user, in: group) else { throw Problem(.notFound) }
      if role < .owner { throw Problem(.roleInsufficient, "The grants of a group are shown to its owners.") }
      let grants = try reader.store.grants(of: group).map { grant -> JSONValue in
        ["id": .string(grant.id), "zone": .string(grant.zone), "role": .string(grant.role)]
      }
      return .answer(.json(JSONValue.object([.init("grants", .array(grants))]).bytes))
    }
  }

  /// `DELETE /v1/zones/{zone}/grants/{id}`: withdraws the group from a zone.
  func withdrawGrant(_ request: HTTPRequest, _ id: String, of group: String) throws -> Step {
    .write(.membership(try sessionKey(request), .withdraw(id, group: group)), API.done)
  }

  /// `GET /v1/blocks`: the users whom the user has blocked.
  func blocks(_ request: HTTPRequest) throws -> Step {
    try api.read { reader in
      let user = try api.device(of: request, reader).key.user
      try QueryParameters(request).requireOnly()
      let blocks = try reader.store.blocks(of: user).map { blocked -> JSONValue in
        ["id": .string(blocked.id), "name": .string(blocked.name)]
      }
      return .answer(.json(JSONValue.object([.init("blocks", .array(blocks))]).bytes))
    }
  }

  /// `PUT` and `DELETE /v1/blocks/{user}`.
  func setBlock(_ request: HTTPRequest, user: String) throws -> Step {
    let change: MembershipChange = request.method == "PUT" ? .block(user) : .unblock(user)
    return .write(.membership(try sessionKey(request), change), API.done)
  }

  private func sessionKey(_ request: HTTPRequest) throws -> DeviceKey {
    try api.read { try api.device(of: request, $0).key }
  }

  /// The answer to an accepted invitation or membership.
  static func membership(_ result: Result<Outcome, Problem>) -> HTTPResponse {
    switch result {
    case .success(.membership(let member, let isNew)):
      .json(
        status: isNew ? 201 : 200,
        JSONValue.object([
          .init("id", .string(member.id)), .init("zone", .string(member.zone)),
          .init("user", .string(member.user)), .init("name", .string(member.name)),
          .init("role", .string(member.role.rawValue)),
        ]).bytes)
    case .success: .problem(Problem(.internalError))
    case .failure(let problem): .problem(problem)
    }
  }
}
