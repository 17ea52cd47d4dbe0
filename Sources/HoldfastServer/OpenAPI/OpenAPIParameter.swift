import HoldfastCore
import HoldfastService

/// A parameter that several operations share.
enum OpenAPIParameter: String, CaseIterable {
  case id
  case zone
  case ids
  case atomic
  case requestID
  case idempotencyKey
  case preference
  case ifMatch
  case ifNoneMatch
  case ifModifiedSince
  case manipulation

  /// All shared parameters, as components.
  static var shared: [(name: String, json: JSONValue)] { allCases.map { ($0.rawValue, $0.json) } }

  /// A reference to it.
  var reference: JSONValue { ["$ref": .string("#/components/parameters/\(rawValue)")] }

  /// The parameters for request ids, which writes accept.
  static var requestIDs: [JSONValue] { [requestID.reference, idempotencyKey.reference] }

  private var json: JSONValue {
    switch self {
    case .id: Self.make("id", in: "path", "The record.", ["type": "string", "minLength": 1, "maxLength": 64])
    case .zone:
      Self.make("zone", in: "path", "The zone.", ["type": "string", "minLength": 1, "maxLength": 64])
    case .ids:
      Self.make(
        "ids", in: "query", "Ids with commas between.", isRequired: true,
        [
          "type": "array", "minItems": 1, "maxItems": 200,
          "items": ["type": "string"],
        ], isExploded: false)
    case .atomic: Self.make("atomic", in: "query", "Whether all is done or nothing.", ["type": "boolean"])
    case .requestID:
      Self.make("X-Client-Request-ID", in: "header", "Makes the request safe to repeat.", Self.key)
    case .idempotencyKey:
      Self.make("Idempotency-Key", in: "header", "The same as X-Client-Request-ID.", Self.key)
    case .preference:
      Self.make(
        "Prefer", in: "header", "return=minimal leaves the columns of records out of the answer.",
        ["type": "string"])
    case .ifMatch:
      Self.make(
        "If-Match", in: "header", "The ETag that the record must have, or *.",
        ["type": "string", "pattern": #"^(\*|"([0-9a-f]{8}\.)?[0-9]{1,18}")$"#])
    case .ifNoneMatch:
      Self.make(
        "If-None-Match", in: "header", "The ETag of what is known.",
        ["type": "string"])
    case .ifModifiedSince:
      Self.make(
        "If-Modified-Since", in: "header", "The Last-Modified of what is known.",
        ["type": "string"])
    case .manipulation:
      Self.make("A-IM", in: "header", "feed asks for only what changed.", ["type": "string"])
    }
  }

  private static let key: JSONValue = ["type": "string", "pattern": "^[!-~]{1,128}$"]

  /// Creates a parameter.
  static func make(
    _ name: String, in place: String, _ description: String, isRequired: Bool? = nil,
    _ schema: JSONValue,
    isExploded: Bool = true
  ) -> JSONValue {
    var members: [JSONValue.Member] = [.init("name", .string(name)), .init("in", .string(place))]
    if !description.isEmpty { members.append(.init("description", .string(description))) }
    if isRequired ?? (place == "path") { members.append(.init("required", true)) }
    members.append(.init("schema", schema))
    if !isExploded { members += [.init("style", "form"), .init("explode", false)] }
    return .object(members)
  }
}
