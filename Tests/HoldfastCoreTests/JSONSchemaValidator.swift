import HoldfastCore

/// Validates values by the keywords of JSON Schema (draft 2020-12) that Holdfast's own schema has.
struct JSONSchemaValidator {
  /// A keyword that is unknown here, or has a value that it can't have.
  struct UnknownKeyword: Error { let name: String }

  let root: JSONValue

  func accepts(_ value: JSONValue) throws -> Bool { try accepts(value, root) }

  private func accepts(_ value: JSONValue, _ schema: JSONValue) throws -> Bool {
    if let verdict = schema.boolValue { return verdict }
    return try (schema.members ?? []).allSatisfy { try keyword($0.name, $0.value, value, schema) }
  }

  private func keyword(_ name: String, _ rule: JSONValue, _ value: JSONValue, _ schema: JSONValue) throws
    -> Bool
  {
    switch name {
    case "$schema", "$defs", "title", "description", "default", "then": return true
    case "$ref":
      guard let target = root["$defs"]?[String(rule.stringValue?.dropFirst(8) ?? "")] else {
        throw UnknownKeyword(name: "\(rule)")
      }
      return try accepts(value, target)
    case "const": return value == rule
    case "enum": return rule.elements?.contains(value) == true
    case "type":
      return (rule.elements ?? [rule]).contains { Self.isType($0.stringValue ?? "", value) }
    case "anyOf": return try rule.elements?.contains { try accepts(value, $0) } == true
    case "allOf": return try rule.elements?.allSatisfy { try accepts(value, $0) } == true
    case "not": return try !accepts(value, rule)
    case "if":
      guard try accepts(value, rule), let then = schema["then"] else { return true }
      return try accepts(value, then)
    default: return try shape(name, rule, value, schema)
    }
  }

  private func shape(_ name: String, _ rule: JSONValue, _ value: JSONValue, _ schema: JSONValue) throws
    -> Bool
  {
    let bound = rule.integerValue ?? 0
    switch (name, value) {
    case ("required", .object):
      return rule.elements?.allSatisfy { value[$0.stringValue ?? ""] != nil } == true
    case ("properties", .object(let members)):
      return try members.allSatisfy { try accepts($0.value, rule[$0.name] ?? true) }
    case ("additionalProperties", .object(let members)):
      return try members.allSatisfy { member in
        try schema["properties"]?[member.name] != nil || accepts(member.value, rule)
      }
    case ("propertyNames", .object(let members)):
      return try members.allSatisfy { try accepts(.string($0.name), rule) }
    case ("minProperties", .object(let members)): return members.count >= bound
    case ("maxProperties", .object(let members)): return members.count <= bound
    case ("items", .array(let elements)): return try elements.allSatisfy { try accepts($0, rule) }
    case ("minItems", .array(let elements)): return elements.count >= bound
    case ("maxItems", .array(let elements)): return elements.count <= bound
    case ("uniqueItems", .array(let elements)): return Set(elements).count == elements.count
    case ("minLength", .string(let text)): return text.unicodeScalars.count >= bound
    case ("maxLength", .string(let text)): return text.unicodeScalars.count <= bound
    case ("pattern", .string(let text)): return try text.contains(Regex(rule.stringValue ?? ""))
    case ("minimum", .integer(let number)): return number >= bound
    case ("maximum", .integer(let number)): return number <= bound
    case ("required", _), ("properties", _), ("additionalProperties", _), ("propertyNames", _),
      ("minProperties", _), ("maxProperties", _), ("items", _), ("minItems", _), ("maxItems", _),
      ("uniqueItems", _), ("minLength", _), ("maxLength", _), ("pattern", _), ("minimum", _), ("maximum", _):
      return true
    default: throw UnknownKeyword(name: name)
    }
  }

  private static func isType(_ name: String, _ value: JSONValue) -> Bool {
    switch (name, value) {
    case ("null", .null), ("boolean", .bool), ("integer", .integer), ("number", .integer), ("number", .real),
      ("string", .string), ("array", .array), ("object", .object):
      true
    default: false
    }
  }
}
