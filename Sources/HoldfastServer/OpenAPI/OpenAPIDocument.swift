public import HoldfastCore
import HoldfastService

/// The REST interface of one schema as an OpenAPI 3.1 document: `GET /openapi.json`.
///
/// Source: <https://spec.openapis.org/oas/v3.1.0>.
public struct OpenAPIDocument: Sendable {
  let schema: SyncSchema

  /// Creates the document of a schema.
  public init(_ schema: SyncSchema) { self.schema = schema }

  /// The document as JSON.
  public var json: JSONValue {
    [
      "openapi": "3.1.0",
      "info": [
        "title": .string(schema.name), "version": "1",
        "description":
          "Offline-first data sync with Holdfast. What the members mean, and what holds, is in its PROTOCOL.md.",
      ],
      "servers": [["url": "/"]],
      "security": [["session": []], ["cookie": []]],
      "paths": .object(
        paths.map { path in .init(path.address, .object(path.operations.map { .init($0.method, $0.json) })) }),
      "components": [
        "securitySchemes": [
          "session": [
            "type": "http", "scheme": "bearer",
            "description": "The token of a session: POST /v1/accounts or /v1/sessions.",
          ],
          "cookie": [
            "type": "apiKey", "in": "cookie", "name": "holdfast_session",
            "description":
              "The same token in a cookie, for pages of the server's own origin. Each request also sends the field Holdfast-Session: cookie TOKEN_ID, with the token_id of the sign-in.",
          ],
          "ticket": [
            "type": "apiKey", "in": "query", "name": "ticket",
            "description": "A ticket for one event stream: POST /v1/events/tickets.",
          ],
        ],
        "parameters": .object(OpenAPIParameter.shared.map { .init($0.name, $0.json) }),
        "responses": [
          "problem": [
            "description": "A problem document (RFC 9457).",
            "content": ["application/problem+json": ["schema": OpenAPISchema.reference("problem")]],
          ]
        ],
        "schemas": .object(OpenAPISchema(schema).all),
      ],
    ]
  }

  /// All paths with their operations.
  var paths: [OpenAPIPath] { servicePaths + exportPaths + schema.tables.flatMap { tablePaths($0) } }
}

/// A path with its operations.
struct OpenAPIPath {
  let address: String
  let operations: [OpenAPIOperation]
}

/// An operation: one method of a path.
struct OpenAPIOperation {
  /// The HTTP method in lower case.
  let method: String
  let id: String
  let summary: String
  var parameters: [JSONValue] = []
  /// The schema of the body, with its media types.
  var body: (schema: JSONValue, types: [String])?
  /// The successful answers, by status.
  let answers: [(status: Int, answer: JSONValue)]
  /// The statuses of possible problems, besides those of every request.
  var problems: [Int] = []
  /// Whether it needs a token.
  var isSecured = true
  /// Whether a ticket takes the place of the token.
  var takesTicket = false
  /// Whether a GET takes preconditions.
  var isConditional = true

  var json: JSONValue {
    var members: [JSONValue.Member] = [
      .init("operationId", .string(id)), .init("summary", .string(summary)),
    ]
    if !isSecured { members.append(.init("security", [])) }
    if takesTicket {
      members.append(.init("security", [["session": []], ["cookie": []], ["ticket": []]]))
    }
    if !parameters.isEmpty { members.append(.init("parameters", .array(parameters))) }
    if let body {
      members.append(
        .init(
          "requestBody",
          ["required": true, "content": .object(body.types.map { .init($0, ["schema": body.schema]) })]))
    }
    let always =
      [400, 406, 408, 414, 417, 431, 500, 501, 503, 505] + (isSecured ? [401, 403] : [])
      + (body == nil ? [] : [413, 415])
    // PROTOCOL.md, section 9.6: any GET but a stream and a test of the database.
    let hasConditions = method == "get" && isConditional
    var answers = answers
    if hasConditions, !answers.contains(where: { $0.status == 304 }) {
      answers.append(Self.empty(304, "Nothing changed."))
    }
    let conditional = hasConditions ? [412] : []
    let statuses = Set(always + conditional + problems).subtracting(answers.map(\.status)).sorted()
    let failures = statuses.map {
      JSONValue.Member(String($0), ["$ref": "#/components/responses/problem"])
    }
    members.append(
      .init("responses", .object(answers.map { .init(String($0.status), $0.answer) } + failures)))
    return .object(members)
  }

  /// A JSON answer.
  static func answer(_ status: Int, _ description: String, _ schema: JSONValue, headers: [OpenAPIHeader] = [])
    -> (
      Int, JSONValue
    )
  {
    var members: [JSONValue.Member] = [
      .init("description", .string(description)), .init("content", ["application/json": ["schema": schema]]),
    ]
    if !headers.isEmpty {
      members.append(.init("headers", .object(headers.map { .init($0.rawValue, $0.json) })))
    }
    return (status, .object(members))
  }

  /// An answer without a body.
  static func empty(_ status: Int, _ description: String) -> (Int, JSONValue) {
    (status, ["description": .string(description)])
  }
}

/// A header field of answers.
enum OpenAPIHeader: String {
  case tag = "ETag"
  case lastModified = "Last-Modified"
  case link = "Link"
  case location = "Location"

  var json: JSONValue { ["schema": ["type": "string"]] }
}
