import Testing

@testable import HoldfastCore

@Suite("The schema")
struct SchemaTests {
  private func faults(_ tables: String, name: String = #""name": "app","#) -> [SchemaError.Fault] {
    do {
      _ = try SyncSchema(json: Array(#"{"holdfast": 1, \#(name) "tables": {\#(tables)}}"#.utf8))
      return []
    } catch { return error.faults }
  }

  private let lists = #""lists": {"zone": "root", "columns": {"title": {"type": "text", "required": true}}}"#

  @Test("what is written is read again as the same schema")
  func roundTrip() throws {
    let schema = try SyncSchema(
      name: "app",
      tables: [
        TableSchema(
          "lists", zone: .root,
          columns: [ColumnSchema("title", .text, required: true, maximumLength: 5, policy: .server)]),
        TableSchema(
          "items", zone: .parent("list_id"),
          columns: [
            ColumnSchema(
              "list_id", .reference, required: true, reference: Reference(to: "lists", onDelete: .cascade)),
            ColumnSchema("done", .boolean, required: true, default: .integer(0)),
            ColumnSchema("n", .integer, minimum: 1, maximum: 3),
            ColumnSchema("kind", .text, default: .text("a"), oneOf: ["a", "b"]),
            ColumnSchema("price", .real, default: .real(1.5)),
          ], unique: [["kind", "n"]], indexes: [["done", "n"], ["kind"]], roles: TableRoles(delete: .owner)),
        TableSchema(
          "words", zone: .public("dictionary"),
          columns: [ColumnSchema("other", .reference, reference: Reference(to: "words", across: true))]),
      ])
    #expect(try SyncSchema(json: schema.json.bytes) == schema)
    #expect(schema.publicZones == ["dictionary"])
    #expect(schema.links.first?.isInZone == true)
    #expect(schema.links.last?.isInZone == false)
  }

  @Test("a table that is not there is named, with advice")
  func missingTable() {
    let items = #""items": {"zone": "user", "columns": {"list_id": {"type": "reference", "to": "list"}}}"#
    let faults = faults(lists + "," + items)
    #expect(faults.map(\.place) == ["tables.items.columns.list_id.to"])
    #expect(faults.first?.text.contains("\"list\"") == true)
  }

  @Test("an index names columns of its table, each once, that have an order; too many are refused")
  func indexes() {
    func places(_ indexes: String) -> [String] {
      let columns = (0..<9).map { #""c\#($0)": {"type": "integer"}"# }.joined(separator: ", ")
      return faults(
        #""t": {"zone": "user", "indexes": \#(indexes), "columns": {"data": {"type": "json"}, \#(columns)}}"#
      ).map(\.place)
    }
    #expect(places(#"[["c1", "c2"], ["c2", "c1"], ["c1"]]"#) == [])
    for bad in [
      #"[["x"]]"#, #"[["data"]]"#, #"[[]]"#, #"[["c1", "c1"]]"#, #"["c1"]"#, #"[[1]]"#,
      #"[["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"]]"#,
    ] { #expect(places(bad) == ["tables.t.indexes.0"], "\(bad)") }
    #expect(places(#"[["c1"], ["c1"]]"#) == ["tables.t.indexes.1"])
    let pairs = (0..<17).map { #"["c\#($0 / 8)", "c\#($0 / 8 + 1 + $0 % 6)"]"# }
    #expect(places("[\(pairs.joined(separator: ", "))]").contains("tables.t.indexes"))
    #expect(places("3") == ["tables.t.indexes.0"])
  }

  @Test("indexes may come and go; nothing of it is a device's")
  func changedIndexes() throws {
    func schema(_ indexes: [[String]]) throws -> SyncSchema {
      try SyncSchema(
        name: "app",
        tables: [
          TableSchema(
            "t", zone: .user, columns: [ColumnSchema("a", .text), ColumnSchema("b", .text)], indexes: indexes)
        ])
    }
    let difference = try SchemaDifference(from: schema([["a"], ["b"]]), to: schema([["b"], ["a", "b"]]))
    #expect(difference.isEmpty)
    #expect(difference.indexes.map(\.columns) == [["a", "b"]])
    #expect(difference.droppedIndexes.map(\.columns) == [["a"]])
  }

  @Test("parents that go round in a circle are refused")
  func cycle() {
    let a =
      #""a": {"zone": {"parent": "b_id"}, "columns": {"b_id": {"type": "reference", "to": "b", "required": true}}}"#
    let b =
      #""b": {"zone": {"parent": "a_id"}, "columns": {"a_id": {"type": "reference", "to": "a", "required": true}}}"#
    #expect(faults(a + "," + b).map(\.place) == ["tables.a.zone.parent", "tables.b.zone.parent"])
    let own =
      #""a": {"zone": {"parent": "a_id"}, "columns": {"a_id": {"type": "reference", "to": "a", "required": true}}}"#
    #expect(faults(own).map(\.place) == ["tables.a.zone.parent"])
  }

  @Test(
    "every wrong place is named",
    arguments: [
      (#""lists": {"zone": "root", "columns": {}}"#, "tables.lists.columns"),
      (#""Lists": {"zone": "root", "columns": {"a": {"type": "text"}}}"#, "tables.Lists"),
      (#""members": {"zone": "root", "columns": {"a": {"type": "text"}}}"#, "tables.members"),
      (#""holdfast_x": {"zone": "root", "columns": {"a": {"type": "text"}}}"#, "tables.holdfast_x"),
      (#""t": {"zone": "roof", "columns": {"a": {"type": "text"}}}"#, "tables.t.zone"),
      (#""t": {"zone": "root", "columns": {"id": {"type": "text"}}}"#, "tables.t.columns.id"),
      (#""t": {"zone": "root", "columns": {"a": {"type": "string"}}}"#, "tables.t.columns.a.type"),
      (#""t": {"zone": "root", "columns": {"a": {"type": "text", "size": 3}}}"#, "tables.t.columns.a.size"),
      (
        #""t": {"zone": "root", "columns": {"a": {"type": "integer", "default": "x"}}}"#,
        "tables.t.columns.a.default"
      ),
      (
        #""t": {"zone": "root", "columns": {"a": {"type": "integer", "min": 3, "max": 1}}}"#,
        "tables.t.columns.a.min"
      ),
      (
        #""t": {"zone": "root", "columns": {"a": {"type": "text", "max_length": 0}}}"#,
        "tables.t.columns.a.max_length"
      ),
      (#""t": {"zone": "root", "columns": {"a": {"type": "text"}}, "unique": [["b"]]}"#, "tables.t.unique.0"),
      (
        #""t": {"zone": "root", "columns": {"a": {"type": "text", "merge": "mine"}}}"#,
        "tables.t.columns.a.merge"
      ),
      (#""t": {"zone": {"parent": "a"}, "columns": {"a": {"type": "text"}}}"#, "tables.t.zone.parent"),
    ])
  func places(table: String, place: String) {
    #expect(faults(table).map(\.place).contains(place))
  }

  @Test("a file that is no JSON says so")
  func noJSON() {
    let error = #expect(throws: SchemaError.self) { try SyncSchema(json: Array("{".utf8)) }
    #expect(error?.faults.first?.place == "holdfast.json")
  }
}
