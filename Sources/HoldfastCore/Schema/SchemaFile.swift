/// The form of `holdfast.json` for programs that help a person to write it: the names of its members, and a JSON Schema.
package enum SchemaFile {
  /// The members of the file.
  package static let members = ["$schema", "holdfast", "name", "version", "oldest_version", "tables"]
  /// The members of a table.
  package static let tableMembers = ["zone", "columns", "unique", "indexes", "roles", "was"]
  /// The members of a column.
  package static let columnMembers = [
    "type", "required", "default", "max_length", "min", "max", "one_of", "merge", "to", "on_delete",
    "across", "within", "was",
  ]

  /// A JSON Schema (draft 2020-12) of the file: docs/SCHEMA.md, section 8, names the rules that no such schema can express.
  package static var jsonSchema: JSONValue {
    [
      "$schema": "https://json-schema.org/draft/2020-12/schema",
      "title": "holdfast.json",
      "description": "The schema file of Holdfast: tables, columns, zones, merge policies and roles.",
      "type": "object",
      "required": ["holdfast", "name", "tables"],
      "additionalProperties": false,
      "properties": [
        "$schema": ["type": "string", "description": "The JSON Schema for editors. Holdfast ignores it."],
        "holdfast": [
          "const": .integer(SyncSchema.formatVersion), "description": "The version of the file's form.",
        ],
        "name": [
          "type": "string", "minLength": 1, "maxLength": .integer(Int64(SchemaCheck.schemaNameLimit)),
          "description": "The name of the app or of its data.",
        ],
        "version": [
          "type": "integer", "minimum": 0, "maximum": .integer(.max), "default": 0,
          "description": "The version of the schema, incremented by the team.",
        ],
        "oldest_version": [
          "type": "integer", "minimum": 0, "maximum": .integer(.max), "default": 0,
          "description": "The oldest version whose apps the server still serves.",
        ],
        "tables": [
          "type": "object", "minProperties": 1,
          "maxProperties": .integer(Int64(SchemaCheck.tableLimit)),
          "propertyNames": reference("tableName"), "additionalProperties": reference("table"),
          "description": "A member for each table.",
        ],
      ],
      "$defs": [
        "tableName": name(
          reserved: SchemaCheck.reservedTables, prefixes: SchemaCheck.reservedTablePrefixes),
        "columnName": name(
          reserved: SchemaCheck.reservedColumns, prefixes: [SchemaCheck.reservedColumnPrefix]),
        "zoneName": name(reserved: [], prefixes: []),
        "role": ["enum": values(Role.self)],
        "table": table,
        "column": SchemaFileColumn.jsonSchema,
      ],
    ]
  }

  private static var table: JSONValue {
    [
      "type": "object", "required": ["zone", "columns"], "additionalProperties": false,
      "properties": [
        "zone": [
          "description":
            "How a record finds its zone: each record is one (root), the zone of the record that a reference names (parent), the user's private zone (user), or a zone that all may read (public).",
          "anyOf": [
            ["enum": ["root", "user"]],
            object(of: "parent", reference("columnName")),
            object(of: "public", reference("zoneName")),
          ],
        ],
        "columns": [
          "type": "object", "minProperties": 1,
          "maxProperties": .integer(Int64(SchemaCheck.columnLimit)),
          "propertyNames": reference("columnName"), "additionalProperties": reference("column"),
          "description": "A member for each column. Every table also has id, zone, rev and seq.",
        ],
        "unique": [
          "type": "array",
          "items": ["type": "array", "minItems": 1, "items": reference("columnName")],
          "description": "Groups of columns whose values together are unique in a zone.",
        ],
        "indexes": [
          "type": "array", "maxItems": .integer(Int64(SchemaCheck.indexLimit)), "uniqueItems": true,
          "items": [
            "type": "array", "minItems": 1, "maxItems": .integer(Int64(SchemaCheck.indexColumnLimit)),
            "uniqueItems": true, "items": reference("columnName"),
          ],
          "description": "Indexes of the server, in each zone.",
        ],
        "roles": [
          "type": "object", "additionalProperties": false,
          "properties": [
            "create": reference("role"), "update": reference("role"), "delete": reference("role"),
          ],
          "description": "The least role for each operation; editor unless given.",
        ],
        "was": formerNames("tableName"),
      ],
    ]
  }

  // MARK: Parts

  /// A definition of the schema, by its name.
  static func reference(_ name: String) -> JSONValue { ["$ref": .string("#/$defs/\(name)")] }

  /// The values of a choice.
  static func values<Choice: RawRepresentable & CaseIterable>(_ type: Choice.Type) -> JSONValue
  where Choice.RawValue == String { .array(type.allCases.map { .string($0.rawValue) }) }

  /// A list of names that something had before.
  static func formerNames(_ kind: String) -> JSONValue {
    [
      "type": "array", "minItems": 1, "maxItems": .integer(Int64(SchemaCheck.formerNameLimit)),
      "uniqueItems": true, "items": reference(kind), "description": "Former names, in any order.",
    ]
  }

  private static func object(of member: String, _ value: JSONValue) -> JSONValue {
    .object([
      .init("type", "object"), .init("required", .array([.string(member)])),
      .init("additionalProperties", false), .init("properties", .object([.init(member, value)])),
    ])
  }

  private static func name(reserved: TextSet, prefixes: [String]) -> JSONValue {
    var members: [JSONValue.Member] = [
      .init("type", "string"), .init("pattern", .string("^[a-z][a-z0-9_]{0,\(SchemaCheck.nameLimit - 1)}$")),
    ]
    var refused: [JSONValue] = []
    if !reserved.isEmpty { refused.append(["enum": .array(reserved.sorted().map { .string($0) })]) }
    if !prefixes.isEmpty {
      refused.append(["pattern": .string("^(\(prefixes.joined(separator: "|")))")])
    }
    if !refused.isEmpty { members.append(.init("not", ["anyOf": .array(refused)])) }
    return .object(members)
  }
}
