import Foundation
import Testing

@testable import HoldfastCore

/// One schema file, and whether the reader and the JSON Schema take it.
struct SchemaFileCase: Sendable, CustomTestStringConvertible {
  let file: String
  let isGood: Bool
  /// What a JSON Schema can't say: it takes the file, and the reader does not.
  var isBeyond = false

  var testDescription: String { file }

  static func file(_ text: String, _ isGood: Bool) -> Self { .init(file: text, isGood: isGood) }

  static func tables(_ text: String, _ isGood: Bool, isBeyond: Bool = false) -> Self {
    .init(file: #"{"holdfast": 1, "name": "app", "tables": {\#(text)}}"#, isGood: isGood, isBeyond: isBeyond)
  }

  /// A table with these members besides its zone and columns.
  static func table(_ text: String, _ isGood: Bool, isBeyond: Bool = false) -> Self {
    tables(
      #""t": {"zone": "user", "columns": {"a": {"type": "text"}, "j": {"type": "json"}}, \#(text)}"#, isGood,
      isBeyond: isBeyond)
  }

  /// A column with these members, in a table that also has a reference `r` and a text `title`.
  static func column(_ text: String, _ isGood: Bool, isBeyond: Bool = false) -> Self {
    tables(
      #""p": {"zone": "root", "columns": {"title": {"type": "text"}}}, "t": {"zone": {"parent": "r"}, "columns": {"r": {"type": "reference", "to": "p", "required": true}, "c": {\#(text)}}}"#,
      isGood, isBeyond: isBeyond)
  }

  static let files: [Self] = [
    .file(
      #"{"$schema": "holdfast.schema.json", "holdfast": 1, "name": "a", "version": 2, "oldest_version": 1, "tables": {"t": {"zone": "user", "columns": {"a": {"type": "text"}}}}}"#,
      true),
    .file(
      #"{"$schema": 1, "holdfast": 1, "name": "a", "tables": {"t": {"zone": "user", "columns": {"a": {"type": "text"}}}}}"#,
      false),
    .file(
      #"{"holdfast": 2, "name": "a", "tables": {"t": {"zone": "user", "columns": {"a": {"type": "text"}}}}}"#,
      false),
    .file(#"{"name": "a", "tables": {"t": {"zone": "user", "columns": {"a": {"type": "text"}}}}}"#, false),
    .file(#"{"holdfast": 1, "tables": {"t": {"zone": "user", "columns": {"a": {"type": "text"}}}}}"#, false),
    .file(
      #"{"holdfast": 1, "name": "", "tables": {"t": {"zone": "user", "columns": {"a": {"type": "text"}}}}}"#,
      false),
    .file(
      #"{"holdfast": 1, "name": "a", "version": -1, "tables": {"t": {"zone": "user", "columns": {"a": {"type": "text"}}}}}"#,
      false),
    .file(
      #"{"holdfast": 1, "name": "a", "more": 1, "tables": {"t": {"zone": "user", "columns": {"a": {"type": "text"}}}}}"#,
      false),
    .init(
      file:
        #"{"holdfast": 1, "name": "a", "version": 1, "oldest_version": 2, "tables": {"t": {"zone": "user", "columns": {"a": {"type": "text"}}}}}"#,
      isGood: false, isBeyond: true),
    .file(#"{"holdfast": 1, "name": "a", "tables": {}}"#, false),
    .file(#"{"holdfast": 1, "name": "a"}"#, false),
    .file("[]", false),
  ]

  static let tables: [Self] = [
    .table(
      #""unique": [["a"]], "indexes": [["a"]], "roles": {"create": "viewer", "update": "editor", "delete": "owner"}, "was": ["former"]"#,
      true),
    .table(#""unique": [[]]"#, false),
    .table(#""unique": ["a"]"#, false),
    .table(#""unique": [["x"]]"#, false, isBeyond: true),
    .table(#""indexes": [["a", "a"]]"#, false),
    .table(#""indexes": [["a"], ["a"]]"#, false),
    .table(#""indexes": [["j"]]"#, false, isBeyond: true),
    .table(#""roles": {"read": "owner"}"#, false),
    .table(#""roles": {"create": "admin"}"#, false),
    .table(#""was": []"#, false),
    .table(#""was": ["x", "x"]"#, false),
    .table(#""was": ["members"]"#, false),
    .table(#""was": ["t"]"#, false, isBeyond: true),
    .table(#""other": 1"#, false),
    .tables(#""t": {"zone": "user", "columns": {}}"#, false),
    .tables(#""t": {"zone": "user"}"#, false),
    .tables(#""t": {"columns": {"a": {"type": "text"}}}"#, false),
    .tables(#""t": {"zone": "none", "columns": {"a": {"type": "text"}}}"#, false),
    .tables(#""t": {"zone": {"public": "shop"}, "columns": {"a": {"type": "text"}}}"#, true),
    .tables(#""t": {"zone": {"public": "My shop"}, "columns": {"a": {"type": "text"}}}"#, false),
    .tables(#""t": {"zone": {"parent": "a", "public": "shop"}, "columns": {"a": {"type": "text"}}}"#, false),
    .tables(#""t": {"zone": {"parent": "x"}, "columns": {"a": {"type": "text"}}}"#, false, isBeyond: true),
    .tables(#""T": {"zone": "user", "columns": {"a": {"type": "text"}}}"#, false),
    .tables(#""members": {"zone": "user", "columns": {"a": {"type": "text"}}}"#, false),
    .tables(#""holdfast_x": {"zone": "user", "columns": {"a": {"type": "text"}}}"#, false),
    .tables(#""t": {"zone": "user", "columns": {"rev": {"type": "text"}}}"#, false),
    .tables(#""t": {"zone": "user", "columns": {"holdfast_removed_1": {"type": "text"}}}"#, false),
  ]

  static let columns: [Self] =
    ColumnType.allCases.map { type in
      .column(#""type": "\#(type.rawValue)""# + (type == .reference ? #", "to": "p""# : ""), true)
    }
    + MergePolicy.allCases.flatMap { policy in
      ColumnType.allCases.map { type in
        .column(
          #""type": "\#(type.rawValue)", "merge": "\#(policy.rawValue)""#
            + (type == .reference ? #", "to": "p""# : ""),
          policy.columnType == nil || policy.columnType == type)
      }
    }
    + [
      .column(#""type": "blob""#, false),
      .column(#""required": true"#, false),
      .column(#""type": "text", "required": 1"#, false),
      .column(#""type": "text", "merge": "last""#, false),
      .column(#""type": "text", "default": 3"#, false),
      .column(#""type": "text", "default": null"#, true),
      .column(#""type": "integer", "default": 3, "min": 1, "max": 5"#, true),
      .column(#""type": "integer", "default": 7, "max": 5"#, false, isBeyond: true),
      .column(#""type": "integer", "min": 5, "max": 1"#, false, isBeyond: true),
      .column(#""type": "integer", "default": 1.5"#, false),
      .column(#""type": "integer", "min": "1""#, false),
      .column(#""type": "real", "default": 3"#, true),
      .column(#""type": "real", "min": 3"#, false),
      .column(#""type": "boolean", "default": false"#, true),
      .column(#""type": "boolean", "default": 0"#, false),
      .column(#""type": "timestamp", "default": "2026-11-21T10:00:00.000Z""#, true),
      .column(#""type": "timestamp", "default": "2026-11-21""#, false),
      .column(#""type": "timestamp", "default": "2026-02-30T10:00:00.000Z""#, false, isBeyond: true),
      .column(#""type": "json", "default": {"a": [1]}"#, true),
      .column(#""type": "json", "merge": "set", "default": ["a", "b"]"#, true),
      .column(#""type": "json", "merge": "set", "default": ["a", "a"]"#, false),
      .column(#""type": "json", "merge": "set", "default": [1]"#, false),
      .column(#""type": "text", "max_length": 1000000"#, true),
      .column(#""type": "text", "max_length": 1000001"#, false),
      .column(#""type": "text", "max_length": 0"#, false),
      .column(#""type": "json", "max_length": 5"#, false),
      .column(#""type": "text", "one_of": ["a", "b"], "default": "a""#, true),
      .column(#""type": "text", "one_of": ["a", "b"], "default": "c""#, false, isBeyond: true),
      .column(#""type": "text", "one_of": []"#, false),
      .column(#""type": "text", "one_of": [1]"#, false),
      .column(#""type": "integer", "one_of": ["a"]"#, false),
      .column(#""type": "reference""#, false),
      .column(#""type": "text", "to": "p""#, false),
      .column(#""type": "text", "to": """#, false),
      .column(#""type": "reference", "to": "nobody""#, false, isBeyond: true),
      .column(#""type": "reference", "to": "p", "default": "x""#, false),
      .column(#""type": "reference", "to": "p", "on_delete": "cascade", "required": true"#, true),
      .column(#""type": "reference", "to": "p", "on_delete": "set_null""#, true),
      .column(#""type": "reference", "to": "p", "on_delete": "set_null", "required": true"#, false),
      .column(#""type": "reference", "to": "p", "on_delete": "restrict""#, true),
      .column(
        #""type": "reference", "to": "p", "on_delete": "restrict", "across": true"#, false, isBeyond: true),
      .column(#""type": "reference", "to": "p", "on_delete": "nothing""#, false),
      .column(#""type": "reference", "to": "p", "across": true"#, true),
      .column(#""type": "text", "on_delete": "cascade""#, false),
      .column(#""type": "text", "across": true"#, false),
      .column(#""type": "position", "within": "r""#, true),
      .column(#""type": "position", "within": "x""#, false, isBeyond: true),
      .column(#""type": "text", "within": "r""#, false),
      .column(#""type": "text", "was": ["d"]"#, true),
      .column(#""type": "text", "was": ["zone"]"#, false),
      .column(#""type": "text", "was": ["holdfast_removed_1"]"#, false),
      .column(#""type": "text", "was": ["r"]"#, false, isBeyond: true),
      .column(#""type": "text", "nullable": true"#, false),
    ]
}

@Suite("The JSON Schema of holdfast.json")
struct SchemaFileTests {
  private let validator = JSONSchemaValidator(root: SchemaFile.jsonSchema)

  @Test(
    "takes and refuses the same files as the reader, but for rules between members",
    arguments: SchemaFileCase.files + SchemaFileCase.tables + SchemaFileCase.columns)
  func agreement(_ file: SchemaFileCase) throws {
    let isRead = (try? SyncSchema(json: Array(file.file.utf8))) != nil
    #expect(isRead == file.isGood)
    let value = try JSONValue(parsing: file.file)
    #expect(try validator.accepts(value) == (file.isGood || file.isBeyond))
  }

  @Test("has every member, type, role and policy of the reader, and no other")
  func members() {
    let schema = SchemaFile.jsonSchema
    func names(_ value: JSONValue?) -> [String] { (value?["properties"]?.members ?? []).map(\.name).sorted() }
    #expect(names(schema) == SchemaFile.members.sorted())
    #expect(names(schema["$defs"]?["table"]) == SchemaFile.tableMembers.sorted())
    let column = schema["$defs"]?["column"]
    #expect(names(column) == SchemaFile.columnMembers.sorted())
    func texts(_ value: JSONValue?) -> [String] { value?["enum"]?.elements?.compactMap(\.stringValue) ?? [] }
    #expect(texts(column?["properties"]?["type"]) == ColumnType.allCases.map(\.rawValue))
    #expect(texts(column?["properties"]?["merge"]) == MergePolicy.allCases.map(\.rawValue))
    #expect(texts(column?["properties"]?["on_delete"]) == Reference.OnDelete.allCases.map(\.rawValue))
    #expect(texts(schema["$defs"]?["role"]) == Role.allCases.map(\.rawValue))
  }

  @Test("is the file of the documentation", arguments: ["docs/holdfast.schema.json"])
  func documentation(_ path: String) throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let file = try String(contentsOf: root.appending(path: path), encoding: .utf8)
    #expect(
      file == SchemaFile.jsonSchema.formatted() + "\n",
      "Write it again: holdfast schema --json-schema > \(path)")
  }
}
