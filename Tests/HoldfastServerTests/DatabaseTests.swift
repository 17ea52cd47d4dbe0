import Foundation
import HoldfastCore
import HoldfastSQLite
import HoldfastServer
import Testing

/// Opening a data directory: what is ours, what is extended, what is refused without a trace.
@Suite struct DatabaseTests {
  @Test("a database of another program is refused and not written to")
  func notOurs() throws {
    let server = try TestServer()
    server.inline = nil
    try FileManager.default.removeItem(atPath: server.database)
    try Connection(path: server.database).execute("CREATE TABLE theirs (x)")
    let before = try Data(contentsOf: URL(fileURLWithPath: server.database))
    #expect(code { try server.reopen(TestServer.schema()) } == .notOurs)
    #expect(try Data(contentsOf: URL(fileURLWithPath: server.database)) == before)
    try Data("no database at all, only some text that is long enough".utf8).write(
      to: URL(fileURLWithPath: server.database))
    #expect(code { try server.reopen(TestServer.schema()) } == .notOurs)
  }

  @Test("a database of a newer version is refused")
  func newer() throws {
    let server = try TestServer()
    server.inline = nil
    try Connection(path: server.database).execute("PRAGMA user_version = 99")
    #expect(code { try server.reopen(TestServer.schema()) } == .newer)
  }

  @Test("a damaged database, or one that can't be read, is refused with its path")
  func unusable() throws {
    let server = try TestServer()
    server.inline = nil
    let file = URL(fileURLWithPath: server.database)
    try Data(contentsOf: file).prefix(20000).write(to: file)
    #expect(code { try server.reopen() } == .damaged)
    try FileManager.default.removeItem(at: file)
    try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
    #expect(code { try server.reopen() } == .unreachable)
  }

  @Test("a second server on the same directory is refused")
  func locked() throws {
    let server = try TestServer()
    #expect(
      code {
        _ = try InlineServer(data: server.path, schema: nil, environment: server.world.environment)
      } == .inUse)
  }

  @Test("without a database there must be a schema")
  func schemaMissing() throws {
    let server = try TestServer()
    server.inline = nil
    try FileManager.default.removeItem(atPath: server.database)
    #expect(code { try server.reopen() } == .schemaMissing)
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
    try server.reopen(Schema(json: Array(text.utf8)))
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
    let schema = try Schema(json: Array(TestServer.text.replacing(old, with: new).utf8))
    do {
      try server.reopen(schema)
      Issue.record("The schema was taken.")
    } catch let error as ServerError {
      #expect(error.code == .schemaCannotChange)
      #expect(error.description.hasPrefix(place + ":"))
    }
    try server.reopen(TestServer.schema())
  }

  @Test("the doctor finds a seq that was given twice, a missing owner and unreadable stamps")
  func doctor() throws {
    let server = try TestServer()
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    _ = try alice.makeItem(list)
    let database = try Connection(path: server.database)
    try database.execute("UPDATE items SET seq = 1, stamps = 'x'; DELETE FROM members")
    let findings = try server.findings().map { $0.prefix { $0 != ":" } }
    #expect(Set(findings) == ["seq", "stamps", "owner"])
  }

  private func code(_ body: () throws -> Void) -> ServerError.Code? {
    do { try body() } catch let error as ServerError { return error.code } catch { Issue.record(error) }
    return nil
  }
}
