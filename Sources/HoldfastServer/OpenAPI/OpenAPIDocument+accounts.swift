import HoldfastCore
import HoldfastService

/// The endpoints of accounts, sessions and devices.
extension OpenAPIDocument {
  private func credentials(_ device: [JSONValue.Member]) -> JSONValue {
    OpenAPISchema.object(
      [
        .init("name", ["type": "string", "pattern": "^[a-z0-9][a-z0-9._-]{0,63}$"]),
        .init(
          "password",
          [
            "type": "string", "minLength": 2, "maxLength": 1024, "description": "8 to 1,024 bytes.",
          ]),
        .init("device", OpenAPISchema.object([.init("name", deviceName)] + device, required: ["name"])),
      ], required: ["name", "password", "device"])
  }

  private var deviceName: JSONValue { ["type": "string", "minLength": 1, "maxLength": 64] }

  var signUp: OpenAPIOperation {
    OpenAPIOperation(
      method: "post", id: "sign_up", summary: "Makes an account, and a first session.",
      body: (credentials([]), Self.json),
      answers: [OpenAPIOperation.answer(201, "The session.", Self.session)],
      problems: [403, 409, 421, 422, 429, 507], isSecured: false)
  }

  var signIn: OpenAPIOperation {
    let device: [JSONValue.Member] = [
      .init("id", OpenAPISchema.newIdentifier),
      .init("session", ["type": "integer", "format": "int64"]),
    ]
    let named = OpenAPISchema.object([.init("name", deviceName)] + device, required: ["name"])
    let byToken = OpenAPISchema.object(
      [.init("token", ["type": "string", "maxLength": 8192]), .init("device", named)],
      required: ["token", "device"])
    let byPass = OpenAPISchema.object(
      [.init("pass", ["type": "string", "maxLength": 8192]), .init("device", named)],
      required: ["pass", "device"])
    return OpenAPIOperation(
      method: "post", id: "sign_in", summary: "Begins a session, with a password, a JWT or a pass.",
      body: (["anyOf": [credentials(device), byToken, byPass]], Self.json),
      answers: [OpenAPIOperation.answer(200, "The session.", Self.session)],
      problems: [401, 409, 421, 429, 507],
      isSecured: false)
  }

  var signOut: OpenAPIOperation {
    OpenAPIOperation(
      method: "delete", id: "sign_out", summary: "Ends the session: its token is dead.",
      answers: [OpenAPIOperation.empty(204, "It has ended.")], problems: [507])
  }

  var copyDevice: OpenAPIOperation {
    OpenAPIOperation(
      method: "post", id: "copy_device", summary: "Gives a copied device an identity of its own.",
      body: (OpenAPISchema.object([.init("name", deviceName)], required: ["name"]), Self.json),
      answers: [OpenAPIOperation.answer(201, "The session.", Self.session)], problems: [429, 507])
  }

  var changePassword: OpenAPIOperation {
    let password: JSONValue = [
      "type": "string", "minLength": 2, "maxLength": 1024, "description": "8 to 1,024 bytes.",
    ]
    let body = OpenAPISchema.object(
      [.init("old", Self.text), .init("new", password), .init("keep_sessions", ["type": "boolean"])],
      required: ["old", "new"])
    return OpenAPIOperation(
      method: "put", id: "change_password", summary: "Another password; ends the user's other sessions.",
      body: (body, Self.json), answers: [OpenAPIOperation.empty(204, "It is in force.")],
      problems: [403, 429, 507])
  }

  var devices: OpenAPIOperation {
    let flag: JSONValue = ["type": "boolean"]
    let device = OpenAPISchema.object(
      [
        .init("id", Self.text), .init("name", Self.text), .init("created_at", Self.text),
        .init("last_seen_at", Self.text), .init("has_session", flag), .init("is_current", flag),
      ], required: ["id", "name", "created_at", "last_seen_at", "has_session", "is_current"], isOpen: true)
    let list = OpenAPISchema.object(
      [.init("devices", OpenAPISchema.list(device))], required: ["devices"], isOpen: true)
    return OpenAPIOperation(
      method: "get", id: "devices", summary: "The user's devices, seen last first.",
      answers: [OpenAPIOperation.answer(200, "The devices.", list)], problems: [403])
  }

  var revoke: OpenAPIOperation {
    OpenAPIOperation(
      method: "delete", id: "revoke_device", summary: "Ends the session of one of the user's devices.",
      parameters: [OpenAPIParameter.make("device", in: "path", "The id of the device.", Self.text)],
      answers: [OpenAPIOperation.empty(204, "Its token is dead.")], problems: [403, 404, 507])
  }

  var setPushToken: OpenAPIOperation {
    let body = OpenAPISchema.object(
      [
        .init("kind", ["type": "string", "pattern": "^[a-z0-9._-]{1,32}$"]),
        .init(
          "token",
          [
            "type": "string", "minLength": 1, "maxLength": .integer(Int64(PushToken.sizeLimit)),
            "description": "At most 4,096 bytes.",
          ]),
      ], required: ["kind", "token"])
    return OpenAPIOperation(
      method: "put", id: "set_push_token", summary: "Sets the push token of the sending device.",
      body: (body, Self.json), answers: [OpenAPIOperation.empty(204, "The webhook is told of it.")],
      problems: [507])
  }

  var removePushToken: OpenAPIOperation {
    OpenAPIOperation(
      method: "delete", id: "remove_push_token", summary: "Removes the push token of the sending device.",
      answers: [OpenAPIOperation.empty(204, "The device has none.")], problems: [507])
  }

  var endOthers: OpenAPIOperation {
    OpenAPIOperation(
      method: "delete", id: "end_other_sessions", summary: "Ends all other sessions of the user.",
      answers: [OpenAPIOperation.empty(204, "They have ended.")], problems: [403, 507])
  }
}

/// The endpoints of memberships.
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

  /// A membership as the accepting user sees it.
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
      answers: [OpenAPIOperation.answer(200, "The user.", found)], problems: [404, 429])
  }

  var makePass: OpenAPIOperation {
    let pass = object([
      .init("pass", Self.text), .init("url", Self.text), .init("expires_in", ["type": "integer"]),
    ])
    return OpenAPIOperation(
      method: "post", id: "make_pass",
      summary: "A pass with which the user begins a session in another database.",
      body: (OpenAPISchema.object([.init("database", Self.text)], required: ["database"]), Self.json),
      answers: [OpenAPIOperation.answer(201, "The pass.", pass)], problems: [403, 404, 429, 507])
  }

  var databases: OpenAPIOperation {
    let flag: JSONValue = ["type": "boolean"]
    let database = object([
      .init("name", Self.text), .init("url", Self.text), .init("is_home", flag), .init("is_member", flag),
    ])
    return OpenAPIOperation(
      method: "get", id: "databases", summary: "The databases of the directory.",
      answers: [
        OpenAPIOperation.answer(
          200, "The databases.", object([.init("databases", OpenAPISchema.list(database))]))
      ], problems: [403, 404])
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

/// The endpoints of invitations.
extension OpenAPIDocument {
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
      problems: [404, 421, 422, 507])
  }

  var invitations: OpenAPIOperation {
    let list = OpenAPISchema.object(
      [.init("invitations", OpenAPISchema.list(invitation([])))], required: ["invitations"], isOpen: true)
    return OpenAPIOperation(
      method: "get", id: "invitations", summary: "The invitations to a zone that have not expired.",
      parameters: [zone],
      answers: [OpenAPIOperation.answer(200, "The invitations, the latest first.", list)],
      problems: [404, 421])
  }

  var revokeInvitation: OpenAPIOperation {
    OpenAPIOperation(
      method: "delete", id: "revoke_invitation", summary: "Revokes an invitation.",
      parameters: [zone, OpenAPIParameter.make("invitation", in: "path", "Its id.", Self.text)],
      answers: [OpenAPIOperation.empty(204, "Nobody can accept it any more.")], problems: [404, 421, 507])
  }

  var acceptInvitation: OpenAPIOperation {
    OpenAPIOperation(
      method: "post", id: "accept_invitation", summary: "Makes the user a member of the invitation's zone.",
      body: (token, Self.json),
      answers: [
        OpenAPIOperation.answer(200, "The membership that there was already.", ownMember),
        OpenAPIOperation.answer(201, "The new membership.", ownMember),
      ], problems: [404, 421, 422, 507])
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
      problems: [404, 421], isSecured: false)
  }
}
