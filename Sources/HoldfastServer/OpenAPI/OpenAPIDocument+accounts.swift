import HoldfastCore
import HoldfastService

/// The addresses of accounts, sessions and devices.
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
      problems: [409, 422, 507], isSecured: false)
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
    return OpenAPIOperation(
      method: "post", id: "sign_in", summary: "Begins a session, with a password or with a JWT.",
      body: (["anyOf": [credentials(device), byToken]], Self.json),
      answers: [OpenAPIOperation.answer(200, "The session.", Self.session)], problems: [401, 429, 507],
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
      answers: [OpenAPIOperation.answer(201, "The session.", Self.session)], problems: [507])
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

  var endOthers: OpenAPIOperation {
    OpenAPIOperation(
      method: "delete", id: "end_other_sessions", summary: "Ends all other sessions of the user.",
      answers: [OpenAPIOperation.empty(204, "They have ended.")], problems: [403, 507])
  }
}
