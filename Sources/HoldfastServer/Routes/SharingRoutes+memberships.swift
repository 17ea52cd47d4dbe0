import HoldfastCore
import HoldfastHTTP
import HoldfastService

// Source: docs/SHARING.md, sections 2 and 3.
extension SharingRoutes {
  /// `GET /v1/memberships`: those that wait for the user's word.
  func memberships(_ request: HTTPRequest) throws -> Step {
    try api.read { reader in
      let user = try api.device(of: request, reader).key.user
      try QueryParameters(request).requireOnly()
      return .answer(.json(try SharingAnswers(reader.store, api.schema).memberships(of: user).bytes))
    }
  }

  /// `POST /v1/memberships/{id}/accept`.
  func acceptMembership(_ request: HTTPRequest, _ id: String) throws -> Step {
    .write(.membership(try sessionKey(request), .accept(id)), Self.membership)
  }

  /// `DELETE /v1/memberships/{id}`: declines one that waits.
  func declineMembership(_ request: HTTPRequest, _ id: String) throws -> Step {
    .write(.membership(try sessionKey(request), .decline(id)), API.done)
  }

  /// `DELETE /v1/zones/{zone}/membership`: leaves a zone.
  func leave(_ request: HTTPRequest, zone: String) throws -> Step {
    .write(.membership(try sessionKey(request), .leave(zone: zone)), API.done)
  }

  /// `GET /v1/zones/{zone}/grants`: the zones that name this one as their group.
  func grants(_ request: HTTPRequest, of group: String) throws -> Step {
    try api.read { reader in
      let user = try api.device(of: request, reader).key.user
      try QueryParameters(request).requireOnly()
      return .answer(.json(try SharingAnswers(reader.store, api.schema).grants(of: group, for: user).bytes))
    }
  }

  /// `DELETE /v1/zones/{zone}/grants/{id}`: takes the group back from a zone.
  func withdrawGrant(_ request: HTTPRequest, _ id: String, of group: String) throws -> Step {
    .write(.membership(try sessionKey(request), .withdraw(id, group: group)), API.done)
  }

  /// `GET /v1/blocks`: the users whom the user has blocked.
  func blocks(_ request: HTTPRequest) throws -> Step {
    try api.read { reader in
      let user = try api.device(of: request, reader).key.user
      try QueryParameters(request).requireOnly()
      return .answer(.json(try SharingAnswers(reader.store, api.schema).blocks(of: user).bytes))
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

  /// The answer to who accepted.
  static func membership(_ result: Result<Outcome, Problem>) -> HTTPResponse {
    switch result {
    case .success(.membership(let member, let isNew)):
      .json(status: isNew ? 201 : 200, member.json.bytes)
    case .success: .problem(Problem(.internalError))
    case .failure(let problem): .problem(problem)
    }
  }
}
