import HoldfastCore
import HoldfastService

/// The addresses of invitations.
extension OpenAPIDocument {
  private var zone: JSONValue { OpenAPIParameter.zone.reference }
  private var role: JSONValue { ["type": "string", "enum": ["viewer", "editor", "owner"]] }
  private var token: JSONValue {
    OpenAPISchema.object([.init("token", ["type": "string", "maxLength": 64])], required: ["token"])
  }

  private func number(atMost limit: Int64) -> JSONValue {
    ["type": "integer", "minimum": 1, "maximum": .integer(limit)]
  }

  private func invitation(_ more: [JSONValue.Member]) -> JSONValue {
    let members: [JSONValue.Member] =
      [.init("id", Self.text)] + more + [
        .init("role", role), .init("expires_at", Self.text),
        .init("uses", ["type": "integer", "minimum": 0]),
      ]
    return OpenAPISchema.object(members, required: members.map(\.name), isOpen: true)
  }

  var invite: OpenAPIOperation {
    let body = OpenAPISchema.object(
      [
        .init("role", role), .init("expires_in", number(atMost: Invitation.secondsLimit)),
        .init("uses", number(atMost: Invitation.useLimit)),
      ], required: ["role", "expires_in", "uses"])
    return OpenAPIOperation(
      method: "post", id: "invite", summary: "Makes an invitation to a zone.", parameters: [zone],
      body: (body, Self.json),
      answers: [
        OpenAPIOperation.answer(
          201, "The invitation; its token is shown here alone.", invitation([.init("token", Self.text)]))
      ],
      problems: [404, 422, 507])
  }

  var invitations: OpenAPIOperation {
    let list = OpenAPISchema.object(
      [.init("invitations", OpenAPISchema.list(invitation([])))], required: ["invitations"], isOpen: true)
    return OpenAPIOperation(
      method: "get", id: "invitations", summary: "The invitations to a zone that have not expired.",
      parameters: [zone],
      answers: [OpenAPIOperation.answer(200, "The invitations, the latest first.", list)], problems: [404])
  }

  var revokeInvitation: OpenAPIOperation {
    OpenAPIOperation(
      method: "delete", id: "revoke_invitation", summary: "Revokes an invitation.",
      parameters: [zone, OpenAPIParameter.make("invitation", in: "path", "Its id.", Self.text)],
      answers: [OpenAPIOperation.empty(204, "Nobody can accept it any more.")], problems: [404, 507])
  }

  var acceptInvitation: OpenAPIOperation {
    OpenAPIOperation(
      method: "post", id: "accept_invitation", summary: "Makes the user a member of the invitation's zone.",
      body: (token, Self.json),
      answers: [
        OpenAPIOperation.answer(200, "The membership that there was already.", ownMember),
        OpenAPIOperation.answer(201, "The new membership.", ownMember),
      ], problems: [404, 422, 507])
  }

  var lookAtInvitation: OpenAPIOperation {
    let shown = OpenAPISchema.object(
      [
        .init("role", role), .init("expires_at", Self.text), .init("title", ["type": ["string", "null"]]),
        .init("invited_by", Self.text),
      ], required: ["role", "expires_at", "title", "invited_by"], isOpen: true)
    return OpenAPIOperation(
      method: "post", id: "look_at_invitation", summary: "What an invitation would give.",
      body: (token, Self.json), answers: [OpenAPIOperation.answer(200, "What it says.", shown)],
      problems: [404], isSecured: false)
  }
}
