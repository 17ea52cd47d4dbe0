package import HoldfastCore

/// Swift's record types of a schema, as source text. See docs/RECORDS.md.
package struct SwiftSource {
  private let schema: SyncSchema

  package init(_ schema: SyncSchema) { self.schema = schema }

  /// The whole file.
  ///
  /// - Throws: `RecordSourceError` when two tables or columns have one name in Swift.
  package func text() throws(RecordSourceError) -> String {
    let tables = schema.tables.filter { !$0.isBuiltIn }
    let types = tables.map { RecordName.type(of: $0.name) }
    try RecordSourceError.requireDistinct(types, of: tables.map { "the table \($0.name)" })
    let hasTimes = tables.contains { $0.columns.contains { $0.type == .timestamp } }
    var parts = [
      "// Made of the schema \"\(schema.name)\" by Holdfast: change holdfast.json instead.",
      (hasTimes ? "public import Foundation\n" : "") + "public import Holdfast",
    ]
    for (table, type) in zip(tables, types) { parts.append(try self.text(of: table, type)) }
    parts.append(schemaText)
    return parts.joined(separator: "\n\n") + "\n"
  }

  private func text(of table: TableSchema, _ type: String) throws(RecordSourceError) -> String {
    let properties = table.columns.map { RecordName.property($0.name) }
    try RecordSourceError.requireDistinct(
      ["id", "table"] + properties,
      of: ["the column id", "the name of the table"]
        + table.columns.map { "the column \(table.name).\($0.name)" })
    let columns = zip(table.columns, properties).map { Column($0, $1) }
    var lines = [
      "/// A record of the table `\(table.name)`. \(zoneNote(table))",
      "public struct \(type): Record, Hashable, Identifiable {",
      "  /// The name of the table.", "  public static let table = \(literal(table.name))", "",
    ]
    for column in columns where !column.schema.oneOf.isEmpty { lines += enumeration(column) + [""] }
    lines += ["  /// The id of the record: a lower-case UUIDv7.", "  public let id: String"]
    for column in columns {
      lines += ["  /// \(column.schema.note)", "  public var \(column.name): \(column.type)"]
    }
    lines += ["", "  /// The columns.", "  public enum CodingKeys: String, CodingKey {", "    case id"]
    for column in columns {
      let isSame = column.property == column.schema.name
      lines.append("    case \(column.name)" + (isSame ? "" : " = \(literal(column.schema.name))"))
    }
    lines += ["  }", ""] + initializer(columns) + ["}"]
    return lines.joined(separator: "\n")
  }

  /// The type of a column with a list of values. A newer server may have values that this text does not know: they are kept as they are.
  private func enumeration(_ column: Column) -> [String] {
    let texts = column.schema.oneOf
    let cases = RecordName.cases(texts, reserved: ["unknown", "rawValue", "allCases"])
    var lines = [
      "  /// The values of `\(column.schema.name)`.",
      "  public enum \(column.base): RawRepresentable, Hashable, Sendable, Codable, CaseIterable {",
    ]
    for (name, text) in zip(cases, texts) {
      lines += ["    /// `\(documented(text))`", "    case \(RecordName.escaped(name))"]
    }
    lines += [
      "    /// A value that a newer schema has.", "    case unknown(String)", "",
      "    /// The values that this schema has.",
      "    public static var allCases: [\(column.base)] { [\(cases.map { ".\($0)" }.joined(separator: ", "))] }",
      "", "    /// The case of a text; `unknown` for one that this schema does not have.",
      "    public init(rawValue: String) {", "      switch rawValue {",
    ]
    for (name, text) in zip(cases, texts) { lines.append("      case \(literal(text)): self = .\(name)") }
    lines += [
      "      default: self = .unknown(rawValue)", "      }", "    }", "",
      "    /// The text in the column.", "    public var rawValue: String {", "      switch self {",
    ]
    for (name, text) in zip(cases, texts) { lines.append("      case .\(name): \(literal(text))") }
    lines += ["      case .unknown(let text): text", "      }", "    }", "  }"]
    return lines
  }

  private func initializer(_ columns: [Column]) -> [String] {
    var lines = ["  /// A record of its values.", "  public init("]
    let parameters =
      ["id: String"]
      + columns.map { column in
        "\(column.name): \(column.type)" + (column.defaultText.map { " = \($0)" } ?? "")
      }
    lines += parameters.enumerated().map { "    \($1)\($0 == parameters.count - 1 ? "" : ",")" }
    lines += ["  ) {", "    self.id = id"]
    lines += columns.map { "    self.\($0.property) = \($0.name)" }
    return lines + ["  }"]
  }

  private func zoneNote(_ table: TableSchema) -> String {
    switch table.zone {
    case .root: "Each is a zone, which is shared with what is under it."
    case .parent(let column): "It is in the zone of the record that `\(column)` names."
    case .user: "It is in the private zone of the user who makes it."
    case .public(let zone): "It is in the public zone `\(zone)`."
    case .explicit, .server: ""
    }
  }

  private var schemaText: String {
    let text = String(decoding: schema.json.bytes, as: UTF8.self)
    let name = RecordName.cases([schema.name], reserved: ["name", "version", "tables", "links", "json"])[0]
    return """
      extension SyncSchema {
        /// The schema `\(documented(schema.name))`, as it was when this text was made.
        ///
        /// - Throws: nothing, as it was checked then; the type says what an unchecked one would throw.
        public static func \(RecordName.escaped(name))() throws(SchemaError) -> SyncSchema {
          try SyncSchema(json: Array(\(literal(text)).utf8))
        }
      }
      """
  }
}

/// A column with its names and types in Swift.
private struct Column {
  let schema: ColumnSchema
  let property: String
  /// The type of a value that is there.
  let base: String

  init(_ schema: ColumnSchema, _ property: String) {
    (self.schema, self.property) = (schema, property)
    base =
      switch schema.type {
      case .text: schema.oneOf.isEmpty ? "String" : RecordName.nestedType(schema.name)
      case .integer: "Int"
      case .real: "Double"
      case .boolean: "Bool"
      case .timestamp: "Date"
      case .json: schema.policy == .set ? "[String]" : "String"
      case .reference, .position: "String"
      }
  }

  var name: String { RecordName.escaped(property) }
  var type: String { schema.required ? base : base + "?" }

  /// What a new record has unless it is given; nil where it must be given.
  var defaultText: String? {
    switch schema.defaultValue {
    case .integer(let number)?:
      schema.type == .boolean ? (number == 0 ? "false" : "true") : String(number)
    case .real(let number)?: String(number)
    case .text(let text)?: defaultText(text)
    case .null?, nil: schema.type == .position && schema.required ? "\"\"" : schema.required ? nil : "nil"
    }
  }

  private func defaultText(_ text: String) -> String? {
    if schema.type == .timestamp, let time = Timestamp.milliseconds(text) {
      return "Date(timeIntervalSince1970: \(Double(time) / 1000))"
    }
    if schema.type == .json, schema.policy == .set, let items = try? JSONValue(parsing: text).elements {
      return "[" + items.compactMap { $0.stringValue.map(literal) }.joined(separator: ", ") + "]"
    }
    if !schema.oneOf.isEmpty {
      let cases = RecordName.cases(schema.oneOf, reserved: ["unknown", "rawValue", "allCases"])
      return zip(schema.oneOf, cases).first { $0.0 == text }.map { ".\($0.1)" }
    }
    return literal(text)
  }
}

/// A text as a literal of Swift.
private func literal(_ text: String) -> String {
  var literal = "\""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\"": literal += "\\\""
    case "\\": literal += "\\\\"
    case _ where scalar.value < 0x20 || scalar.value == 0x7F || (0x200B...0x2069).contains(scalar.value):
      literal += "\\u{\(String(scalar.value, radix: 16))}"
    default: literal.unicodeScalars.append(scalar)
    }
  }
  return literal + "\""
}

/// A text inside of a comment: on its line, and between back-ticks.
private func documented(_ text: String) -> String {
  String(
    String.UnicodeScalarView(
      text.unicodeScalars.map { $0.value < 0x20 || $0 == "`" || $0.properties.isWhitespace ? " " : $0 }))
}
