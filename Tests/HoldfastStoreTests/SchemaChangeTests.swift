import HoldfastCore
import HoldfastServer
import ServerScenes
import Testing

/// Other names and removals on the server: docs/SCHEMA-CHANGES.md.
@Suite struct SchemaChangeTests {
  /// The app's tables, changed.
  private static func schema(_ change: (inout TableSchema) -> Void, without gone: String? = nil) throws
    -> SyncSchema
  {
    let schema = try TestServer.schema()
    let tables = schema.tables.filter { !$0.isBuiltIn && $0.name != gone }.map { table in
      var table = table
      change(&table)
      return table
    }
    return try SyncSchema(name: schema.name, tables: tables)
  }

  /// `items.title` is now `heading`, `tags` are `labels`, and their `name` is `text`.
  static func renamed() throws -> SyncSchema {
    try schema { table in
      switch table.name {
      case "tags":
        (table.name, table.was, table.unique) = ("labels", ["tags"], [["text"]])
        (table.columns[1].name, table.columns[1].was) = ("text", ["name"])
      case "items":
        (table.columns[1].name, table.columns[1].was) = ("heading", ["title"])
        table.columns[5].reference = Reference(to: "labels", onDelete: .setNull)
      default: break
      }
    }
  }

  /// A table, a reference, a column that must have a value and one of a unique group less.
  static func reduced() throws -> SyncSchema {
    try schema(
      { table in
        let leaving: TextMap = ["tags": ["name"], "items": ["title", "tag_id"]]
        let gone = leaving[table.name] ?? []
        table.columns.removeAll { gone.contains($0.name) }
        if table.name == "tags" { table.unique = [] }
      }, without: "seals")
  }

  @Test("a rename keeps records, and takes both names from apps and programs (I3)")
  func renames() throws {
    let server = try TestServer()
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    let (tag, item) = (alice.newID(), alice.newID())
    try alice.sync([
      .create("tags", tag, ["list_id": .string(list), "name": "red"]),
      .create("items", item, ["list_id": .string(list), "title": "Milk", "tag_id": .string(tag)]),
    ])
    try alice.sync([.update("items", item, ["title": "Oat milk"], base: ["title": "Milk"])])
    try server.reopen(Self.renamed())
    #expect(try server.findings().isEmpty)

    let phone = try server.signIn("alice")
    try phone.pull()
    #expect(phone.column("items", item, "heading") == "Oat milk")
    #expect(phone.column("labels", tag, "text") == "red")
    // An old app, with a base by the old name, and a new one.
    let old = try alice.sync([.update("items", item, ["title": "Soy"], rev: 2, base: ["title": "Oat milk"])])
    #expect(old.refused.isEmpty)
    #expect(old.renamed == FormerNames(try Self.renamed()))
    try phone.pull()
    #expect(phone.column("items", item, "heading") == "Soy")
    #expect(try phone.sync([.update("items", item, ["heading": "Rice"], rev: 3)]).refused.isEmpty)
    #expect(try alice.sync([.update("tags", tag, ["name": "blue"])]).refused.isEmpty)
    try phone.pull()
    #expect(phone.column("labels", tag, "text") == "blue")
    #expect(
      try alice.refused(.update("items", item, ["title": "a", "heading": "b"])).code == .invalidOperation)
    // A new unique value by the old names meets the index under its new one.
    let other = alice.newID()
    #expect(
      try alice.refused(.create("tags", other, ["list_id": .string(list), "name": "blue"])).code
        == .uniqueTaken)
    #expect(try alice.sync([.delete("tags", tag, rev: 2)]).refused.isEmpty)
    try phone.pull()
    #expect(phone.records["labels \(tag)"] == nil)
    #expect(phone.column("items", item, "tag_id") == .null)
    try server.reopen()
    #expect(try server.findings().isEmpty)
  }

  @Test(
    "who changed a column last is known by its new name: an edit that did not know of it is a conflict, in the new name (I7)"
  )
  func concurrentAcrossRename() throws {
    let server = try TestServer()
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    let item = alice.newID()
    try alice.sync([.create("items", item, ["list_id": .string(list), "title": "Milk"])])
    let phone = try server.signIn("alice")
    try phone.pull()
    try alice.sync([
      .update("items", item, ["title": "Late"], base: ["title": "Milk"], at: Stamp(milliseconds: 9000))
    ])
    try server.reopen(Self.renamed())
    try phone.sync([
      .update("items", item, ["title": "Early"], base: ["title": "Milk"], at: Stamp(milliseconds: 8000))
    ])
    try phone.pull()
    #expect(phone.column("items", item, "heading") == "Late")
    let conflict = try #require(phone.records.first { $0.key.hasPrefix("conflicts") }?.value.columns)
    #expect(conflict["column_name"] == "heading")
  }

  @Test("the conflicts of renamed columns and tables are no doubts: the server has renamed them itself")
  func doubtsAfterRename() throws {
    let server = try TestServer()
    let alice = try server.signUp("alice")
    let phone = try server.signIn("alice")
    let list = try alice.makeList()
    let (item, tag) = (try alice.makeItem(list), alice.newID())
    try alice.sync([.create("tags", tag, ["list_id": .string(list), "name": "red"])])
    for (table, id, column) in [("items", item, "title"), ("tags", tag, "name")] {
      for (device, time) in [(alice, Int64(9000)), (phone, 8000)] {
        try device.sync([
          .update(table, id, .object([.init(column, .string("\(time)"))]), at: Stamp(milliseconds: time))
        ])
      }
    }
    // The names are as long as before, so that no size changes.
    try server.reopen(
      Self.schema { table in
        switch table.name {
        case "tags": (table.name, table.was) = ("cues", ["tags"])
        case "items":
          (table.columns[1].name, table.columns[1].was) = ("label", ["title"])
          table.columns[5].reference = Reference(to: "cues", onDelete: .setNull)
        default: break
        }
      })
    #expect(try Administration(server.location).doubts() == [])
    #expect(try server.findings().isEmpty)
    let tablet = try server.signIn("alice")
    try tablet.pull()
    let conflicts = tablet.all("conflicts")
    #expect(conflicts.compactMap { $0["column_name"]?.stringValue }.sorted() == ["label", "name"])
    #expect(conflicts.compactMap { $0["record_table"]?.stringValue }.sorted() == ["cues", "items"])
  }

  @Test("REST takes the names of before in addresses, bodies and filters, and answers with those of now")
  func restByOldNames() throws {
    let server = try TestServer()
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    let item = alice.newID()
    try alice.sync([.create("items", item, ["list_id": .string(list), "title": "Milk"])])
    try server.reopen(Self.renamed())
    let client = RestClient(alice)
    let patched = try client.send("PATCH", "/v1/tables/items/\(item)", ["columns": ["title": "Tea"]])
    #expect(patched.status == 200)
    #expect(patched.column("heading") == "Tea")
    let found = try client.get("/v1/tables/items?zone=\(list)&columns=title").json["records"]?.elements
    #expect(found?.map { $0["columns"] } == [["heading": "Tea"]])
    let made = try client.send(
      "POST", "/v1/tables/tags", ["columns": ["list_id": .string(list), "name": "red"]])
    #expect(made.status == 201)
    #expect(made.json["columns"]?["text"] == "red")
    let both: JSONValue = ["columns": ["title": "a", "heading": "b"]]
    #expect(try client.send("PATCH", "/v1/tables/items/\(item)", both).code == "invalid-operation")
  }

  @Test(
    "what the schema lacks is refused unless it is allowed; then it is kept, served no more, and its name is free (I3)"
  )
  func removals() throws {
    let server = try TestServer()
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    let (tag, item, seal) = (alice.newID(), alice.newID(), alice.newID())
    try alice.sync([
      .create("tags", tag, ["list_id": .string(list), "name": "red"]),
      .create("items", item, ["list_id": .string(list), "title": "Milk", "tag_id": .string(tag)]),
      .create("seals", seal, ["item_id": .string(item)]),
    ])
    let reduced = try Self.reduced()
    try alice.pull()
    #expect(alice.column("items", item, "title") == "Milk")
    #expect(throws: ServerError.self) { try server.reopen(reduced) }
    try server.reopen(reduced, removals: .allow)
    #expect(try server.findings().isEmpty)

    // An app of before hears of it, and so agrees with the others (I7).
    try alice.pull()
    #expect(alice.column("items", item, "title") == nil)
    #expect(alice.records["seals \(seal)"] == nil)
    let phone = try server.signIn("alice")
    try phone.pull()
    #expect(phone.column("items", item, "title") == nil)
    #expect(phone.records["seals \(seal)"] == nil)
    // An old app's sets are refused whole; what is behind them goes on (I12).
    #expect(try alice.refused(.update("items", item, ["title": "Tea", "done": true])).code == .unknownColumn)
    #expect(try alice.refused(.delete("seals", seal)).code == .unknownTable)
    #expect(try alice.sync([.update("items", item, ["done": true])]).refused.isEmpty)
    // Nothing holds the item or the tag any more, and new records need no value of what is gone.
    let next = alice.newID()
    #expect(
      try alice.sync([
        .create("items", next, ["list_id": .string(list)]),
        .create("tags", alice.newID(), ["list_id": .string(list)]),
        .create("tags", alice.newID(), ["list_id": .string(list)]), .delete("tags", tag),
        .delete("items", item, rev: 2),
      ]).refused.isEmpty)
    let kept = try server.location.removedData()
    #expect(kept.count == 4)
    #expect(try server.findings().isEmpty)

    // The names may be used again, empty; and what was kept is dropped by one command alone.
    var tables = reduced.tables.filter { !$0.isBuiltIn }
    let items = try #require(tables.firstIndex { $0.name == "items" })
    tables[items].columns.append(ColumnSchema("title", .integer))
    tables.append(TableSchema("seals", zone: .user, columns: [ColumnSchema("text", .text)]))
    try server.reopen(SyncSchema(name: reduced.name, tables: tables))
    #expect(try phone.sync([.update("items", next, ["title": 3])]).refused.isEmpty)
    #expect(try server.location.removedData(dropping: true).count == 4)
    #expect(try server.location.removedData().isEmpty)
    try server.reopen()
    #expect(try phone.sync([.update("items", next, ["title": 4], rev: 2)]).refused.isEmpty)
    #expect(try server.findings().isEmpty)
  }

  @Test("a rename can be followed by another, and the first name still counts")
  func twice() throws {
    func schema(_ name: String, was: [String]) throws -> SyncSchema {
      try SyncSchema(
        name: "app",
        tables: [TableSchema("notes", zone: .user, columns: [ColumnSchema(name, .text, was: was)])])
    }
    let server = try TestServer(schema("a", was: []))
    let alice = try server.signUp("alice")
    let note = alice.newID()
    try alice.sync([.create("notes", note, ["a": "one"])])
    try server.reopen(schema("b", was: ["a"]))
    try server.reopen(schema("c", was: ["a", "b"]))
    #expect(try alice.sync([.update("notes", note, ["a": "two"])]).refused.isEmpty)
    #expect(try alice.sync([.update("notes", note, ["b": "three"], rev: 2)]).refused.isEmpty)
    let phone = try server.signIn("alice")
    try phone.pull()
    #expect(phone.column("notes", note, "c") == "three")
    #expect(try server.findings().isEmpty)
  }
}
