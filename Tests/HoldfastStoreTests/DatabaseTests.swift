import Foundation
import HoldfastCore
import HoldfastServer
import ServerScenes
import Testing

/// Opening a database: what is extended, and what is refused.
@Suite struct DatabaseTests {
  @Test("without a database there must be a schema")
  func schemaMissing() throws {
    let server = try TestServer()
    #expect(
      code {
        let other = try Engine.used.makeLocation(in: server.folder.appendingPathComponent("other"))
        _ = try InlineServer(other, schema: nil, environment: server.world.environment)
      } == .schemaMissing)
  }

  @Test("added tables and columns are made, and old records show the default (schema change)")
  func additions() throws {
    let server = try TestServer()
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    let text = TestServer.text.replacing(
      #""note": {"type": "text"}}},"#,
      with: #""note": {"type": "text"}, "color": {"type": "text", "required": true, "default": "red"}}}, "#
        + #""extra": {"zone": {"public": "news"}, "columns": {"text": {"type": "text"}}},"#)
    try server.reopen(SyncSchema(json: Array(text.utf8)))
    let phone = try server.signIn("alice")
    try phone.pull()
    #expect(phone.column("lists", list, "color") == "red")
    #expect(try phone.sync([.update("lists", list, ["color": "blue"])]).refused.isEmpty)
    try server.reopen()
    #expect(try server.findings().isEmpty)
  }

  @Test(
    "a removed or changed table or column is refused by its place",
    arguments: [
      (#""note": {"type": "text"}}},"#, #""extra": {"type": "text"}}},"#, "tables.lists.columns.note"),
      (#""note": {"type": "text"}}},"#, #""note": {"type": "integer"}}},"#, "tables.lists.columns.note.type"),
      (
        #""products": {"zone": {"public": "catalogue"}"#, #""goods": {"zone": {"public": "catalogue"}"#,
        "tables.products"
      ),
      (#""unique": [["name"]],"#, "", "tables.tags.unique"),
      (
        #""note": {"type": "text"}}},"#,
        #""note": {"type": "text"}, "x": {"type": "text", "required": true}}},"#, "tables.lists.columns.x"
      ),
    ])
  func changes(_ old: String, _ new: String, _ place: String) throws {
    let server = try TestServer()
    let schema = try SyncSchema(json: Array(TestServer.text.replacing(old, with: new).utf8))
    do {
      try server.reopen(schema)
      Issue.record("The schema was taken.")
    } catch let error as ServerError {
      #expect(error.code == .schemaCannotChange)
      #expect(error.description.hasPrefix(place + ":"))
    }
    try server.reopen(TestServer.schema())
  }

  @Test(
    "the doctor finds a seq beyond its zone, a missing owner, access of nobody, wrong counts and unreadable stamps"
  )
  func doctor() throws {
    let server = try TestServer()
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    _ = try alice.makeItem(list)
    try server.change(
      sqlite: "UPDATE items SET seq = 9, stamps = 'x'; DELETE FROM members",
      postgres: """
        SET holdfast.service = 'on'; DELETE FROM holdfast.records WHERE record_table = 'members';
        UPDATE holdfast.records SET seq = 9, stamps = 'x' WHERE record_table = 'items'; DELETE FROM holdfast.members
        """)
    let findings = try server.findings().map { $0.prefix { $0 != ":" } }
    #expect(Set(findings) == ["seq", "stamps", "owner", "access", "counts"])
  }

  @Test("the doctor finds a stamp of a later rev than the record's: no device has heard of that change (I4)")
  func laterStamp() throws {
    let server = try TestServer()
    let alice = try server.signUp("alice")
    let item = try alice.makeItem(alice.makeList())
    try alice.sync([.update("items", item, ["title": "x"])])
    #expect(try server.findings() == [])
    try server.change(
      sqlite: "UPDATE items SET rev = rev - 1",
      postgres: "UPDATE holdfast.records SET rev = rev - 1 WHERE record_table = 'items'")
    #expect(try server.findings().map { $0.prefix { $0 != ":" } } == ["stamps"])
  }

  private func code(_ body: () throws -> Void) -> ServerError.Code? {
    do { try body() } catch let error as ServerError { return error.code } catch { Issue.record(error) }
    return nil
  }
}
