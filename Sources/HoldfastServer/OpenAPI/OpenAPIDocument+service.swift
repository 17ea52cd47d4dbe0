import HoldfastCore
import HoldfastService

extension OpenAPIDocument {
  /// The endpoints that exist for every schema.
  var servicePaths: [OpenAPIPath] {
    [
      OpenAPIPath(address: "/v1/accounts", operations: [signUp]),
      OpenAPIPath(address: "/v1/account/password", operations: [changePassword]),
      OpenAPIPath(address: "/v1/sessions", operations: [signIn, endOthers]),
      OpenAPIPath(address: "/v1/sessions/current", operations: [signOut]),
      OpenAPIPath(address: "/v1/devices", operations: [devices, copyDevice]),
      OpenAPIPath(address: "/v1/devices/{device}", operations: [revoke]),
      OpenAPIPath(address: "/v1/push-token", operations: [setPushToken, removePushToken]),
      OpenAPIPath(address: "/v1/sync", operations: [sync]),
      OpenAPIPath(address: "/v1/events", operations: [events]),
      OpenAPIPath(address: "/v1/events/tickets", operations: [makeTicket]),
      OpenAPIPath(address: "/v1/batch", operations: [batch]),
      OpenAPIPath(address: "/v1/zones", operations: [zones]),
      OpenAPIPath(address: "/v1/zones/{zone}/invitations", operations: [invitations, invite]),
      OpenAPIPath(address: "/v1/zones/{zone}/invitations/{invitation}", operations: [revokeInvitation]),
      OpenAPIPath(address: "/v1/invitations/accept", operations: [acceptInvitation]),
      OpenAPIPath(address: "/v1/invitations/look", operations: [lookAtInvitation]),
      OpenAPIPath(address: "/v1/users", operations: [lookUpUser]),
      OpenAPIPath(address: "/v1/passes", operations: [makePass]),
      OpenAPIPath(address: "/v1/databases", operations: [databases]),
      OpenAPIPath(address: "/v1/memberships", operations: [memberships]),
      OpenAPIPath(address: "/v1/memberships/{membership}", operations: [declineMembership]),
      OpenAPIPath(address: "/v1/memberships/{membership}/accept", operations: [acceptMembership]),
      OpenAPIPath(address: "/v1/zones/{zone}/membership", operations: [leaveZone]),
      OpenAPIPath(address: "/v1/zones/{zone}/grants", operations: [grants]),
      OpenAPIPath(address: "/v1/zones/{zone}/grants/{grant}", operations: [withdrawGrant]),
      OpenAPIPath(address: "/v1/blocks", operations: [blocks]),
      OpenAPIPath(address: "/v1/blocks/{user}", operations: [block, unblock]),
      OpenAPIPath(address: "/v1/zones/{zone}/changes", operations: [changes]),
      OpenAPIPath(address: "/v1/zones/{zone}/snapshot", operations: [snapshot]),
      OpenAPIPath(address: "/v1/schema", operations: [open("get_schema", "The schema of the server.")]),
      OpenAPIPath(address: "/openapi.json", operations: [open("get_openapi", "This document.")]),
      OpenAPIPath(address: "/healthz", operations: [open("get_health", "Whether the process runs.")]),
      OpenAPIPath(
        address: "/readyz",
        operations: [open("get_readiness", "Whether the server can write.", isConditional: false)]),
    ]
  }

  static let json = ["application/json"]
  static let text: JSONValue = ["type": "string"]
  private static let anything: JSONValue = ["type": "object"]
  static let session = OpenAPISchema.reference("session")

  /// An operation that needs no token.
  private func open(_ id: String, _ summary: String, isConditional: Bool = true) -> OpenAPIOperation {
    OpenAPIOperation(
      method: "get", id: id, summary: summary,
      answers: [OpenAPIOperation.answer(200, summary, Self.anything)], isSecured: false,
      isConditional: isConditional)
  }

  // MARK: Sync

  private var sync: OpenAPIOperation {
    let number: JSONValue = ["type": "integer", "format": "int64", "minimum": 0]
    let fingerprint: JSONValue = ["type": "string", "pattern": "^[0-9a-f]{16}$"]
    let request = OpenAPISchema.object(
      [
        .init("protocol", ["const": 1]), .init("acknowledged_refusals", number), .init("acks", Self.anything),
        .init("complete", ["type": "boolean"]), .init("last_server_clock", fingerprint),
        .init("digest", fingerprint),
        .init("first", number),
        .init("chain", fingerprint), .init("schema_version", number), .init("as_sent", ["type": "boolean"]),
        .init("snapshots_from", ["type": "integer", "minimum": 1]), .init("carried", Self.carried),
        .init("change_sets", OpenAPISchema.list(OpenAPISchema.list(Self.anything, atLeast: 1), atMost: 1000)),
      ], required: ["protocol"], isOpen: true)
    return OpenAPIOperation(
      method: "post", id: "sync", summary: "A device's round trip; see PROTOCOL.md, section 3.",
      body: (request, Self.json), answers: [OpenAPIOperation.answer(200, "What is new.", Self.anything)],
      problems: [409, 426, 507])
  }

  /// Pairs of a number and an origin.
  private static let carried = OpenAPISchema.list(
    [
      "type": "array", "minItems": 2, "maxItems": 2,
      "prefixItems": [
        ["type": "integer", "format": "int64", "minimum": 1],
        ["type": "string", "pattern": "^[0-9A-Za-z]{1,64}$"],
      ],
    ], atMost: 1000)

  private var events: OpenAPIOperation {
    OpenAPIOperation(
      method: "get", id: "events",
      summary: "A stream of Server-Sent Events without an end: which zones moved.",
      answers: [
        (
          200,
          ["description": "The stream.", "content": ["text/event-stream": ["schema": ["type": "string"]]]]
        )
      ], takesTicket: true, isConditional: false)
  }

  private var makeTicket: OpenAPIOperation {
    let ticket = OpenAPISchema.object(
      [
        .init("ticket", Self.text),
        .init("expires_in", ["type": "integer", "description": "In seconds."]),
      ], required: ["ticket", "expires_in"], isOpen: true)
    return OpenAPIOperation(
      method: "post", id: "make_event_ticket",
      summary: "A ticket with which a browser's EventSource opens one stream of the sender's device.",
      answers: [OpenAPIOperation.answer(201, "The ticket, valid once.", ticket)], problems: [507])
  }

  // MARK: Zones and batches

  private var batch: OpenAPIOperation {
    let tables = schema.tables.map { JSONValue.string($0.name) }
    let identifier: JSONValue = ["type": "string", "minLength": 1, "maxLength": 64]
    let operation = OpenAPISchema.object(
      [
        .init("op", ["type": "string", "enum": ["create", "update", "replace", "delete", "restore"]]),
        .init("table", ["type": "string", "enum": .array(tables)]), .init("id", identifier),
        .init("rev", OpenAPISchema.base), .init("if_match", OpenAPISchema.condition),
        .init("zone", identifier),
        .init("columns", Self.anything), .init("base", Self.anything),
        .init("at", ["type": "string", "format": "date-time"]),
      ], required: ["op", "table"])
    let body = OpenAPISchema.object(
      [
        .init("operations", OpenAPISchema.list(operation, atLeast: 1, atMost: 1000)),
        .init("atomic", ["type": "boolean"]),
      ], required: ["operations"])
    return OpenAPIOperation(
      method: "post", id: "batch", summary: "Operations on several tables and zones, in order.",
      parameters: OpenAPIParameter.requestIDs + [OpenAPIParameter.preference.reference],
      body: (body, Self.json),
      answers: [OpenAPIOperation.answer(200, "A result for each.", OpenAPISchema.reference("results"))],
      problems: [403, 404, 409, 410, 412, 421, 422, 507])
  }

  private var zones: OpenAPIOperation {
    let zone = OpenAPISchema.object(
      [.init("zone", Self.text), .init("role", Self.text), .init("token", Self.text)],
      required: ["zone", "role", "token"], isOpen: true)
    return OpenAPIOperation(
      method: "get", id: "zones", summary: "The zones that the user may read.",
      parameters: [OpenAPIParameter.ifNoneMatch.reference, OpenAPIParameter.ifModifiedSince.reference],
      answers: [
        OpenAPIOperation.answer(
          200, "The zones.",
          OpenAPISchema.object([.init("zones", OpenAPISchema.list(zone))], required: ["zones"], isOpen: true),
          headers: [.tag, .lastModified]), OpenAPIOperation.empty(304, "Nothing changed."),
      ])
  }

  private var snapshot: OpenAPIOperation {
    let file: JSONValue = ["application/vnd.sqlite3": ["schema": ["type": "string", "format": "binary"]]]
    func answer(_ description: String) -> JSONValue {
      .object([.init("description", .string(description)), .init("content", file)])
    }
    return OpenAPIOperation(
      method: "get", id: "snapshot", summary: "The zone as an SQLite file; see SNAPSHOTS.md.",
      parameters: [
        OpenAPIParameter.zone.reference, OpenAPIParameter.ifMatch.reference,
        OpenAPIParameter.ifNoneMatch.reference,
        OpenAPIParameter.make("Range", in: "header", "One range of bytes.", ["type": "string"]),
        OpenAPIParameter.make("If-Range", in: "header", "The ETag that the range is of.", ["type": "string"]),
      ],
      answers: [
        (200, answer("The file.")), (206, answer("A part of the file.")),
        OpenAPIOperation.empty(304, "Nothing changed."),
      ], problems: [404, 412, 416, 421])
  }

  private var changes: OpenAPIOperation {
    OpenAPIOperation(
      method: "get", id: "changes", summary: "The changes of a zone since a change token, in order.",
      parameters: [
        OpenAPIParameter.zone.reference,
        OpenAPIParameter.make(
          "since", in: "query", "A change token; the beginning without it.",
          ["type": "string", "maxLength": 64]),
        OpenAPIParameter.make(
          "limit", in: "query", "Changes at the most.", ["type": "integer", "minimum": 1, "maximum": 10000]),
        OpenAPIParameter.ifNoneMatch.reference, OpenAPIParameter.ifModifiedSince.reference,
      ],
      answers: [
        OpenAPIOperation.answer(
          200, "The changes.", OpenAPISchema.reference("changes"), headers: [.tag, .lastModified]),
        OpenAPIOperation.empty(304, "Nothing changed."),
      ], problems: [404, 410, 421])
  }
}

/// The endpoints of export and erasure; see EXPORT-AND-ERASURE.md.
extension OpenAPIDocument {
  var exportPaths: [OpenAPIPath] {
    let all = export("export", "All that the user may read, as JSON Lines.", ExportLines.mediaType(nil))
    return [
      OpenAPIPath(address: "/v1/account", operations: [erase]),
      OpenAPIPath(address: "/v1/account/export", operations: [all]),
    ]
      + schema.tables.enumerated().map { index, table in
        let one = export(
          "export_\(table.name)", "The user's records of \(table.name), as CSV.", ExportLines.mediaType(index)
        )
        return OpenAPIPath(address: "/v1/account/export/\(table.name)", operations: [one])
      }
  }

  private var erase: OpenAPIOperation {
    OpenAPIOperation(
      method: "delete", id: "erase_account", summary: "Erases the user.",
      body: (OpenAPISchema.object([.init("password", Self.text)], required: []), Self.json),
      answers: [OpenAPIOperation.empty(204, "The account is gone.")], problems: [403, 429, 507])
  }

  private func export(_ id: String, _ summary: String, _ type: String) -> OpenAPIOperation {
    let content: [JSONValue.Member] = [.init(type, ["schema": ["type": "string"]])]
    let answer: JSONValue = [
      "description": "A part; Link names the next.", "content": .object(content),
      "headers": .object([.init(OpenAPIHeader.link.rawValue, OpenAPIHeader.link.json)]),
    ]
    return OpenAPIOperation(
      method: "get", id: id, summary: summary,
      parameters: [
        OpenAPIParameter.make("after", in: "query", "Where the part before ended.", Self.text)
      ], answers: [(200, answer)])
  }
}
