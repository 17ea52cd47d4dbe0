import HoldfastCore
import HoldfastService

/// The JSON Schemas of requests and answers (JSON Schema 2020-12).
struct OpenAPISchema {
  let schema: SyncSchema

  init(_ schema: SyncSchema) { self.schema = schema }

  /// A reference to a component.
  static func reference(_ name: String) -> JSONValue { ["$ref": .string("#/components/schemas/\(name)")] }

  /// All components.
  var all: [JSONValue.Member] { shared + schema.tables.flatMap { components(of: $0) } }

  private static let identifier: JSONValue = ["type": "string", "minLength": 1, "maxLength": 64]
  private static let counter: JSONValue = ["type": "integer", "format": "int64", "minimum": 1]
  /// The ids that a create accepts.
  static let newIdentifier: JSONValue = [
    "type": "string", "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
  ]
  /// The `rev` that an update is based on.
  static let base: JSONValue = ["type": "integer", "format": "int64", "minimum": 0]

  /// A `rev`, or the content of an ETag.
  static let condition: JSONValue = ["anyOf": [base, ["type": "string"]]]

  static func object(_ properties: [JSONValue.Member], required: [String] = [], isOpen: Bool = false)
    -> JSONValue
  {
    var members: [JSONValue.Member] = [.init("type", "object"), .init("properties", .object(properties))]
    if !required.isEmpty { members.append(.init("required", .array(required.map { .string($0) }))) }
    if !isOpen { members.append(.init("additionalProperties", false)) }
    return .object(members)
  }

  static func list(_ items: JSONValue, atLeast: Int64 = 0, atMost: Int64? = nil) -> JSONValue {
    var members: [JSONValue.Member] = [.init("type", "array"), .init("items", items)]
    if atLeast > 0 { members.append(.init("minItems", .integer(atLeast))) }
    if let atMost { members.append(.init("maxItems", .integer(atMost))) }
    return .object(members)
  }

  private var shared: [JSONValue.Member] {
    let text: JSONValue = ["type": "string"]
    return [
      .init(
        "problem",
        Self.object(
          [
            .init("type", text),
            .init(
              "code", ["type": "string", "enum": .array(ProblemCode.allCases.map { .string($0.rawValue) })]),
            .init("title", text), .init("status", ["type": "integer"]), .init("detail", text),
            .init("remedy", text), .init("errors", Self.list(Self.object([], isOpen: true))),
            .init("record", ["anyOf": [Self.reference("record_or_short_form"), Self.identifier]]),
            .init("columns", Self.list(text)), .init("proposal", Self.object([], isOpen: true)),
          ], required: ["type", "code", "title", "status"], isOpen: true)),
      .init(
        "record",
        Self.object(
          [
            .init("table", text), .init("id", Self.identifier), .init("zone", Self.identifier),
            .init("rev", Self.counter), .init("seq", Self.counter), .init("columns", ["type": "object"]),
            .init("created_by_request_id", text),
          ], required: ["table", "id", "zone", "rev", "seq", "columns"], isOpen: true)),
      .init(
        "short_form",
        Self.object(
          [
            .init("table", text), .init("id", Self.identifier), .init("zone", Self.identifier),
            .init("rev", Self.counter), .init("seq", Self.counter), .init("deleted", ["const": true]),
            .init("deleted_at", ["type": "string", "format": "date-time"]),
          ], required: ["table", "id", "deleted"], isOpen: true)),
      .init("record_or_short_form", ["anyOf": [Self.reference("record"), Self.reference("short_form")]]),
      .init(
        "results",
        Self.object(
          [
            .init(
              "results",
              Self.list(
                Self.object(
                  [
                    .init("status", ["type": "integer"]),
                    .init("record", Self.reference("record_or_short_form")),
                    .init("problem", Self.reference("problem")),
                  ], required: ["status"], isOpen: true)))
          ], required: ["results"], isOpen: true)),
      .init(
        "session",
        Self.object(
          [
            .init(
              "user",
              Self.object([.init("id", text), .init("name", text)], required: ["id", "name"], isOpen: true)),
            .init(
              "device",
              Self.object(
                [.init("id", text), .init("name", text), .init("session", ["type": "integer"])],
                required: ["id"],
                isOpen: true)),
            .init(
              "token", ["type": "string", "description": "Absent if the answer set the cookie."]),
            .init(
              "token_id",
              ["type": "string", "description": "If the answer set the cookie: what names its token."]),
          ], required: ["user", "device"], isOpen: true)),
      .init(
        "changes",
        Self.object(
          [
            .init("zone", Self.identifier), .init("role", text), .init("from", text), .init("to", text),
            .init("count", ["type": "integer"]), .init("more", ["type": "boolean"]),
            .init("remaining", ["type": "integer"]), .init("changes", Self.list(["type": "object"])),
          ], required: ["zone", "from", "to", "count", "more", "changes"], isOpen: true)),
    ]
  }

  // MARK: Tables

  private func components(of table: TableSchema) -> [JSONValue.Member] {
    let isMember = table.zone == .explicit
    let all = table.columns.map { JSONValue.Member($0.name, given(to: $0)) }
    let needed = table.columns.filter { $0.required && $0.defaultValue == nil }.map(\.name)
    let shown = Self.object(table.columns.map { .init($0.name, value(of: $0)) })
    let record = Self.object(
      [
        .init("table", ["const": .string(table.name)]), .init("id", Self.identifier),
        .init("zone", Self.identifier),
        .init("rev", Self.counter), .init("seq", Self.counter), .init("columns", shown),
        .init("created_by_request_id", ["type": "string"]),
        .init("rank", ["type": ["integer", "null"], "minimum": 1]),
      ], required: ["table", "id", "zone", "rev", "seq", "columns"], isOpen: true)
    let whole = Self.object(all, required: needed)
    let zone: [JSONValue.Member] = isMember ? [.init("zone", Self.identifier)] : []
    let must = isMember ? ["zone", "columns"] : ["columns"]
    var components: [JSONValue.Member] = [
      .init("\(table.name)_record", record),
      .init(
        "\(table.name)_page",
        Self.object(
          [
            .init(
              "records",
              Self.list(["anyOf": [Self.reference("\(table.name)_record"), Self.reference("short_form")]])),
            .init("count", ["type": "integer", "minimum": 0]), .init("next", ["type": "string"]),
            .init("more", ["type": "boolean"]),
            .init("results", Self.list(["type": "object"])),
          ], isOpen: true)),
    ]
    if table.zone == .server { return components + choices(of: table) }
    let create = Self.object(
      [.init("id", Self.newIdentifier)] + zone + [.init("columns", whole)], required: must)
    components += updates(
      of: table, table.columns.map { .init($0.name, increment(of: $0, or: given(to: $0))) })
    components += [
      .init("\(table.name)_create", create),
      .init(
        "\(table.name)_replace",
        Self.object([.init("columns", whole), .init("rev", Self.base)] + zone, required: ["columns"])),
      .init("\(table.name)_restore", Self.object([.init("columns", whole)], required: ["columns"])),
      .init(
        "\(table.name)_creates",
        ["anyOf": [Self.reference("\(table.name)_create"), bulk(of: Self.reference("\(table.name)_create"))]]),
    ]
    return components
  }

  /// The bodies of updates.
  private func updates(of table: TableSchema, _ all: [JSONValue.Member]) -> [JSONValue.Member] {
    let offline: [JSONValue.Member] = [
      .init("base", Self.object(table.columns.map { .init($0.name, value(of: $0)) })),
      .init("at", ["type": "string", "format": "date-time"]),
    ]
    let columns: [JSONValue.Member] = [.init("columns", Self.object(all)), .init("rev", Self.base)]
    let one = Self.object(columns + offline, required: ["columns"])
    let item = Self.object(
      [.init("id", Self.identifier), .init("if_match", Self.condition)] + columns + offline,
      required: ["id", "columns"])
    return [.init("\(table.name)_update", one), .init("\(table.name)_updates", bulk(of: item))]
  }

  /// The value of a column in an update: a new value, or an increment of the current one.
  private func increment(of column: ColumnSchema, or value: JSONValue) -> JSONValue {
    let texts = Self.list(["type": "string"])
    switch column.policy {
    case .counter:
      let add: JSONValue = ["type": "integer", "format": "int64"]
      return ["anyOf": [value, Self.object([.init("add", add)], required: ["add"])]]
    case .set: return ["anyOf": [value, Self.object([.init("add", texts), .init("remove", texts)])]]
    case .latest, .server, .client, .text, .ask, .resolver: return value
    }
  }

  /// The bodies that resolve a conflict.
  private func choices(of table: TableSchema) -> [JSONValue.Member] {
    let column = table.columns.filter { $0.name == TableSchema.resolutionColumn }.map {
      JSONValue.Member($0.name, value(of: $0))
    }
    let take = Self.object(
      [.init("take", ["type": "string", "enum": ["winner", "loser"]])], required: ["take"])
    let other = Self.object([.init("value", [:])], required: ["value"])
    return updates(of: table, column) + [
      .init("\(table.name)_resolve", ["anyOf": [take, other]])
    ]
  }

  /// The body of a bulk request. An item of another form is valid too, and gets a problem as its result.
  private func bulk(of item: JSONValue) -> JSONValue {
    let items = Self.list(["anyOf": [item, [:]]], atLeast: 1, atMost: 1000)
    return Self.object(
      [.init("records", items), .init("atomic", ["type": "boolean"])], required: ["records"])
  }

  /// The value of a column in a write. A position can also be given relative to a neighbour or an end of the list.
  private func given(to column: ColumnSchema) -> JSONValue {
    if column.type != .position { return value(of: column) }
    let places = ["after", "before"].map { name in
      Self.object([.init(name, Self.identifier)], required: [name])
    }
    let end = Self.object([.init("at", ["enum": ["first", "last"]])], required: ["at"])
    return ["anyOf": .array([value(of: column)] + places + [end])]
  }

  /// The values of a column.
  private func value(of column: ColumnSchema) -> JSONValue {
    var members: [JSONValue.Member] = []
    func type(_ name: String) {
      members.append(.init("type", column.required ? .string(name) : .array([.string(name), "null"])))
    }
    switch column.type {
    case .text where !column.oneOf.isEmpty:
      members.append(
        .init("enum", .array(column.oneOf.map { .string($0) } + (column.required ? [] : [.null]))))
    case .text:
      type("string")
      members += [
        .init("maxLength", .integer(Int64(column.lengthLimit))), .init("pattern", #"^[^\u0000]*$"#),
      ]
    case .integer:
      type("integer")
      members += [
        .init("format", "int64"), .init("minimum", .integer(column.minimum ?? .min)),
        .init("maximum", .integer(column.maximum ?? .max)),
      ]
    case .real:
      type("number")
      members.append(.init("format", "double"))
    case .boolean: type("boolean")
    case .timestamp:
      type("string")
      members += [
        .init("format", "date-time"),
        .init(
          "pattern",
          #"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{3}Z$"#
        ),
      ]
    case .json:
      if column.policy == .set {
        members += [
          .init("type", column.required ? "array" : ["array", "null"]), .init("items", ["type": "string"]),
          .init("uniqueItems", true),
        ]
      }
    case .reference:
      type("string")
      members += [.init("minLength", 1), .init("maxLength", 64)]
    case .position:
      type("string")
      members.append(.init("maxLength", .integer(Int64(Position.maximumLength))))
    }
    return .object(members)
  }
}
