import HoldfastCore

/// Cases of `ColumnSchema.value(from:)` and `ColumnSchema.check(_:)`: a column in the form of holdfast.json, a value as JSON text, and the code
/// of the problem, or null.
enum ValueVectors {
  static var cases: [JSONValue] {
    columns.flatMap { column, values in
      values.map { text in
        [
          "column": json(of: column), "value": .string(text),
          "problem": problem(of: text, in: column).map { .string($0) } ?? .null,
        ]
      }
    }
  }

  private static func problem(of text: String, in column: ColumnSchema) -> String? {
    do {
      let value = try JSONReader.read(text) { try column.value(from: &$0) }
      try column.check(value)
      return nil
    } catch let problem as Problem { return problem.code.rawValue } catch { return "malformed-json" }
  }

  /// As `holdfast.json` has it.
  private static func json(of column: ColumnSchema) -> JSONValue {
    let tables = [
      TableSchema("things", zone: .root, columns: [column]),
      TableSchema("others", zone: .root, columns: [ColumnSchema("title", .text)]),
    ]
    let schema = try? SyncSchema(name: "vectors", tables: tables)
    return schema?.json["tables"]?["things"]?["columns"]?[column.name] ?? .null
  }

  private static func array(deep depth: Int) -> String {
    String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
  }

  private static let position = Position.between(
    nil, nil, replica: Position.Replica(random: 77), nonce: 7
  ).string

  private static let columns: [(ColumnSchema, [String])] = [
    (
      ColumnSchema("c", .text, required: true, maximumLength: 3),
      [
        #""abc""#, #""abcd""#, "\"\u{1F600}\u{1F600}\u{1F600}\"", "\"e\u{301}e\u{301}\"", #""""#, "null", "1",
        #""a\u0000""#, "true", #"["a"]"#,
      ]
    ),
    (ColumnSchema("c", .text, oneOf: ["winner", "loser"]), [#""winner""#, #""Winner""#, "null"]),
    (
      ColumnSchema("c", .integer, minimum: -2, maximum: 9_007_199_254_740_993),
      ["0", "-2", "-3", "9007199254740993", "9007199254740994", "1.0", "1e2", #""1""#, "null", "-0"]
    ),
    (
      ColumnSchema("c", .integer),
      ["9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809"]
    ),
    (ColumnSchema("c", .real), ["1", "1.5", "-0", "1e308", "1e309", #""1""#, "5e-324"]),
    (ColumnSchema("c", .boolean, required: true), ["true", "false", "0", "1", "null", #""true""#]),
    (
      ColumnSchema("c", .timestamp),
      [#""2026-11-21T10:00:00.000Z""#, #""2026-11-21""#, #""2023-02-29T00:00:00.000Z""#, "0"]
    ),
    (
      ColumnSchema("c", .json),
      [
        "{\"a\": [1, 2.50]}", "1", #""text""#, "null", array(deep: 32), array(deep: 33), "1e308",
        "[1,0.1E+309]", "[-1.5e-309,2]",
        #"{"1e999":"\"2e999","a":[true,5e1]}"#,
      ]
    ),
    (
      ColumnSchema("c", .json, policy: .set),
      [#"["a","b"]"#, #"["a","a"]"#, #"["a","\u0061"]"#, #"["a",1]"#, "[]", "{}", #""a""#]
    ),
    (
      ColumnSchema("c", .reference, reference: Reference(to: "others", onDelete: .setNull)),
      [
        #""01912f3c-8a00-7000-8000-000000000001""#, #""any""#, #""""#,
        "\"\(String(repeating: "x", count: 65))\"", "1",
      ]
    ),
    (ColumnSchema("c", .position), ["\"\(position)\"", #""x""#, "1"]),
  ]
}
