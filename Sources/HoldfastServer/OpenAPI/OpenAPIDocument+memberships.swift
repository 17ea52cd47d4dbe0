import HoldfastCore
import HoldfastService

/// The addresses of memberships.
extension OpenAPIDocument {
  private var zone: JSONValue { OpenAPIParameter.zone.reference }
  private var role: JSONValue { ["type": "string", "enum": ["viewer", "editor", "owner"]] }

  private func id(_ name: String, _ text: String) -> JSONValue {
    OpenAPIParameter.make(name, in: "path", text, Self.text)
  }

  private func object(_ members: [JSONValue.Member]) -> JSONValue {
    OpenAPISchema.object(members, required: members.map(\.name), isOpen: true)
  }

  private var user: JSONValue { object([.init("id", Self.text), .init("name", Self.text)]) }

  /// A membership, as who accepts is shown it.
  var ownMember: JSONValue {
    object(["id", "zone", "user", "name"].map { .init($0, Self.text) } + [.init("role", role)])
  }

  private func list(_ name: String, of item: JSONValue) -> JSONValue {
    object([.init(name, OpenAPISchema.list(item))])
  }

  var memberships: OpenAPIOperation {
    let pending = object([
      .init("id", Self.text), .init("zone", Self.text), .init("role", role),
      .init("title", ["type": ["string", "null"]]), .init("invited_by", user),
    ])
    return OpenAPIOperation(
      method: "get", id: "memberships", summary: "The memberships that wait for the user's word.",
      answers: [
        OpenAPIOperation.answer(200, "The memberships, the latest first.", list("memberships", of: pending))
      ])
  }

  var acceptMembership: OpenAPIOperation {
    OpenAPIOperation(
      method: "post", id: "accept_membership", summary: "Accepts a membership.",
      parameters: [id("membership", "The id of its record.")],
      answers: [
        OpenAPIOperation.answer(200, "It was accepted already.", ownMember),
        OpenAPIOperation.answer(201, "It counts from now on.", ownMember),
      ], problems: [404, 422, 507])
  }

  var declineMembership: OpenAPIOperation {
    OpenAPIOperation(
      method: "delete", id: "decline_membership", summary: "Declines a membership that waits.",
      parameters: [id("membership", "The id of its record.")],
      answers: [OpenAPIOperation.empty(204, "The record is deleted.")], problems: [404, 507])
  }

  var leaveZone: OpenAPIOperation {
    OpenAPIOperation(
      method: "delete", id: "leave_zone", summary: "Leaves a zone, also one that a group gives.",
      parameters: [zone],
      answers: [OpenAPIOperation.empty(204, "The user is in the zone no longer.")], problems: [404, 409, 507])
  }

  var grants: OpenAPIOperation {
    let grant = object([.init("id", Self.text), .init("zone", Self.text), .init("role", role)])
    return OpenAPIOperation(
      method: "get", id: "grants", summary: "The zones that name a zone as their group.", parameters: [zone],
      answers: [OpenAPIOperation.answer(200, "The grants, the latest first.", list("grants", of: grant))],
      problems: [404])
  }

  var withdrawGrant: OpenAPIOperation {
    OpenAPIOperation(
      method: "delete", id: "withdraw_grant", summary: "Takes a group back from a zone that names it.",
      parameters: [zone, id("grant", "The id of the record that names the group.")],
      answers: [OpenAPIOperation.empty(204, "The record is deleted.")], problems: [404, 507])
  }

  var lookUpUser: OpenAPIOperation {
    let found = object([
      .init("id", Self.text), .init("name", Self.text), .init("issuer", ["type": ["string", "null"]]),
    ])
    return OpenAPIOperation(
      method: "get", id: "look_up_user", summary: "Whom sharing with a name reaches.",
      parameters: [OpenAPIParameter.make("name", in: "query", "The name.", Self.text)],
      answers: [OpenAPIOperation.answer(200, "The user.", found)], problems: [404])
  }

  var blocks: OpenAPIOperation {
    OpenAPIOperation(
      method: "get", id: "blocks", summary: "The users whom the user has blocked.",
      answers: [OpenAPIOperation.answer(200, "The users, by their names.", list("blocks", of: user))])
  }

  var block: OpenAPIOperation {
    OpenAPIOperation(
      method: "put", id: "block", summary: "Blocks a user.", parameters: [id("user", "The user's id.")],
      answers: [OpenAPIOperation.empty(204, "What the user shares from now on does not reach this one.")],
      problems: [404, 422, 507])
  }

  var unblock: OpenAPIOperation {
    OpenAPIOperation(
      method: "delete", id: "unblock", summary: "Ends the blocking of a user.",
      parameters: [id("user", "The user's id.")],
      answers: [OpenAPIOperation.empty(204, "The user is blocked no longer.")], problems: [507])
  }
}
