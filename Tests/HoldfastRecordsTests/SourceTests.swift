import HoldfastCore
import HoldfastRecords
import Testing

@Suite("Source text of a schema")
struct SourceTests {
  @Test(
    "tables in the plural are types in the singular, and hide no well-known type",
    arguments: [
      ("items", "Item"), ("study_sets", "StudySet"), ("sets", "SetRecord"), ("lists", "ListRecord"),
      ("classes", "Class"), ("countries", "Country"), ("boxes", "Box"), ("people", "Person"),
      ("statuses", "Status"), ("status", "Status"), ("news", "News"), ("urls", "URLRecord"),
      ("user_id", "UserID"),
      ("s", "S"), ("buses", "Bus"), ("matches", "Match"), ("ties", "Tie"), ("analyses", "Analysis"),
    ])
  func types(_ table: String, _ type: String) { #expect(RecordName.type(of: table) == type) }

  @Test("values that differ in signs alone get cases of their own")
  func cases() {
    let names = RecordName.cases(["a b", "a-b", "A", "1", "-", "unknown", "XMLFile"], reserved: ["unknown"])
    #expect(names == ["aB", "aB2", "a", "value1", "empty", "unknownValue", "xMLFile"])
  }

  @Test("two columns of one name in Swift are refused, with what to do")
  func collision() throws {
    let schema = try SyncSchema(
      name: "twice",
      tables: [
        TableSchema("items", zone: .root, columns: [ColumnSchema("a_b", .text), ColumnSchema("a__b", .text)])
      ])
    let error = #expect(throws: RecordSourceError.self) { try SwiftSource(schema).text() }
    #expect(
      error?.description
        == "the column items.a_b and the column items.a__b would both be called aB. Rename one of them.")
  }

  @Test("TypeScript has the names and values of the wire")
  func typeScript() throws {
    let schema = try SyncSchema(
      name: "shop",
      tables: [
        TableSchema(
          "items", zone: .root,
          columns: [
            ColumnSchema("title", .text, required: true),
            ColumnSchema("kind", .text, oneOf: ["a \"b\"", "c"]),
            ColumnSchema("tags", .json, policy: .set), ColumnSchema("extra", .json, required: true),
            ColumnSchema("at", .timestamp), ColumnSchema("done", .boolean, required: true),
            ColumnSchema("price", .real),
          ])
      ])
    let text = try TypeScriptSource(schema).text()
    let lines = text.split(separator: "\n").map { $0.trimmingPrefix { $0 == " " } }
    for line in [
      "export interface Item {", "id: string;", "title: string;", #"kind: "a \"b\"" | "c" | null;"#,
      "tags: string[] | null;", "extra: JSONValue;", "at: string | null;", "done: boolean;",
      "price: number | null;", "export interface Tables {", "items: Item;", "members: MemberRecord;",
    ] { #expect(lines.contains(line[...]), "\(line)") }
  }
}
