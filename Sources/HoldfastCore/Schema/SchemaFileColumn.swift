/// The part of `SchemaFile.jsonSchema` about one column: which members go with which type.
enum SchemaFileColumn {
  static var jsonSchema: JSONValue {
    [
      "type": "object", "required": ["type"], "additionalProperties": false,
      "properties": properties,
      "allOf": .array(
        ColumnType.allCases.map(rule) + [setDefault, requiredReference]),
    ]
  }

  private static var properties: JSONValue {
    let wholeNumber: JSONValue = ["type": "integer", "minimum": .integer(.min), "maximum": .integer(.max)]
    return [
      "type": ["enum": SchemaFile.values(ColumnType.self), "description": "The type of the values."],
      "required": [
        "type": "boolean", "default": false, "description": "Whether a record must have a value.",
      ],
      "default": ["description": "The value of a create that gives none."],
      "max_length": [
        "type": "integer", "minimum": .integer(Int64(SchemaCheck.textLengths.lowerBound)),
        "maximum": .integer(Int64(SchemaCheck.textLengths.upperBound)), "default": 10000,
        "description": "text: the greatest length in Unicode scalars.",
      ],
      "min": wholeNumber, "max": wholeNumber,
      "one_of": [
        "type": "array", "minItems": 1, "items": ["type": "string"],
        "description": "text: the only values.",
      ],
      "merge": [
        "enum": SchemaFile.values(MergePolicy.self), "default": .string(MergePolicy.latest.rawValue),
        "description": "The merge policy: how concurrent edits of the column are merged.",
      ],
      "to": [
        "type": "string", "description": "reference: the table that the column refers to.",
      ],
      "on_delete": [
        "enum": SchemaFile.values(Reference.OnDelete.self),
        "description": "reference: what happens to this record when the other is deleted.",
      ],
      "across": [
        "type": "boolean", "default": false,
        "description": "reference: whether it may lead into another zone of the same root table.",
      ],
      "within": [
        "type": "string",
        "description": "position: the reference column whose records form one list.",
      ],
      "was": SchemaFile.formerNames("columnName"),
    ]
  }

  /// The members that only some types have, with those types.
  private static let special: [(member: String, types: [ColumnType])] = [
    ("max_length", [.text]), ("one_of", [.text]), ("min", [.integer]), ("max", [.integer]),
    ("to", [.reference]), ("on_delete", [.reference]), ("across", [.reference]), ("within", [.position]),
  ]

  /// What a column of a type has and lacks.
  private static func rule(of type: ColumnType) -> JSONValue {
    var members: [JSONValue.Member] = special.filter { !$0.types.contains(type) }
      .map { .init($0.member, false) }
    members.append(.init("default", defaultValue(of: type)))
    let policies = MergePolicy.allCases.filter { $0.columnType == nil || $0.columnType == type }
    members.append(.init("merge", ["enum": .array(policies.map { .string($0.rawValue) })]))
    var then: [JSONValue.Member] = [.init("properties", .object(members))]
    if type == .reference { then.append(.init("required", ["to"])) }
    return [
      "if": ["required": ["type"], "properties": ["type": ["const": .string(type.rawValue)]]],
      "then": .object(then),
    ]
  }

  private static func defaultValue(of type: ColumnType) -> JSONValue {
    switch type {
    case .text, .position: ["type": ["string", "null"]]
    case .integer: ["type": ["integer", "null"], "minimum": .integer(.min), "maximum": .integer(.max)]
    case .real: ["type": ["number", "null"]]
    case .boolean: ["type": ["boolean", "null"]]
    case .timestamp:
      [
        "type": ["string", "null"],
        "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$",
      ]
    case .json: true
    case .reference: false
    }
  }

  /// The default of a set is a set.
  private static var setDefault: JSONValue {
    [
      "if": ["required": ["merge"], "properties": ["merge": ["const": .string(MergePolicy.set.rawValue)]]],
      "then": [
        "properties": [
          "default": ["type": ["array", "null"], "uniqueItems": true, "items": ["type": "string"]]
        ]
      ],
    ]
  }

  /// A required reference can't become null.
  private static var requiredReference: JSONValue {
    [
      "if": ["required": ["required"], "properties": ["required": ["const": true]]],
      "then": ["properties": ["on_delete": ["not": ["const": .string(Reference.OnDelete.setNull.rawValue)]]]],
    ]
  }
}
