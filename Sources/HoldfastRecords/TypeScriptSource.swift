package import HoldfastCore

/// TypeScript's declarations of a schema's records, as source text: for programs in JavaScript, with the names and values of the wire.
package struct TypeScriptSource {
  private let schema: SyncSchema

  package init(_ schema: SyncSchema) { self.schema = schema }

  /// The whole file.
  ///
  /// - Throws: `RecordSourceError` when two tables have one name.
  package func text() throws(RecordSourceError) -> String {
    let tables = schema.tables
    let types = tables.map { RecordName.type(of: $0.name) }
    try RecordSourceError.requireDistinct(
      types + ["Tables", "JSONValue"], of: tables.map { "the table \($0.name)" } + ["all tables", "JSON"])
    var parts = [
      "// Made of the schema \"\(schema.name)\" by Holdfast: change holdfast.json instead.",
      """
      /** Any value of JSON. */
      export type JSONValue = null | boolean | number | string | JSONValue[] | { [name: string]: JSONValue };
      """,
    ]
    for (table, type) in zip(tables, types) { parts.append(text(of: table, type)) }
    parts.append(
      "/** The type of each table's records. */\nexport interface Tables {\n"
        + zip(tables, types).map { "  \($0.name): \($1);\n" }.joined() + "}")
    return parts.joined(separator: "\n\n") + "\n"
  }

  private func text(of table: TableSchema, _ type: String) -> String {
    var lines = [
      "/** A record of the table `\(table.name)`. */", "export interface \(type) {",
      "  /** The id of the record: a lower-case UUIDv7. */", "  id: string;",
    ]
    if table.zone == .explicit { lines += ["  /** The zone. */", "  zone: string;"] }
    for column in table.columns {
      lines += [
        "  /** \(column.note) */",
        "  \(column.name): \(self.type(of: column))\(column.required ? "" : " | null");",
      ]
    }
    return lines.joined(separator: "\n") + "\n}"
  }

  private func type(of column: ColumnSchema) -> String {
    switch column.type {
    case .text:
      column.oneOf.isEmpty ? "string" : column.oneOf.map { literal($0) }.joined(separator: " | ")
    case .integer, .real: "number"
    case .boolean: "boolean"
    case .timestamp, .reference, .position: "string"
    case .json: column.policy == .set ? "string[]" : "JSONValue"
    }
  }

  /// A text as a literal of JavaScript: one of JSON is one.
  private func literal(_ text: String) -> String {
    String(decoding: JSONValue.string(text).bytes, as: UTF8.self)
  }
}
