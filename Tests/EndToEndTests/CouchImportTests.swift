import Foundation
import Holdfast
import HostileServer
import Testing

@Suite("Importing a CouchDB database")
struct CouchImportTests {
  private static let schema = try? SyncSchema(
    name: "lists",
    tables: [
      TableSchema("lists", zone: .root, columns: [ColumnSchema("title", .text, required: true)]),
      TableSchema(
        "items", zone: .parent("list_id"),
        columns: [
          ColumnSchema(
            "list_id", .reference, required: true, reference: Reference(to: "lists", onDelete: .cascade)),
          ColumnSchema("title", .text, required: true), ColumnSchema("tags", .json, policy: .set),
        ]),
    ])

  /// An answer of CouchDB, as its documentation has them.
  private static func answer(_ body: String, status: String = "200 OK") -> HostileServer.Answer {
    .bytes(
      Array(
        "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
          .utf8))
  }

  private static func change(_ sequence: Int, _ document: String) -> String {
    #"{"seq": "\#(sequence)-g1AAAA", "id": "x", "changes": [{"rev": "1-a"}], "doc": \#(document)}"#
  }

  /// Runs `holdfast import`.
  private func run(_ arguments: [String], in folder: URL) throws -> ProgramRun {
    let process = Process()
    process.executableURL = Programs.path("holdfast")
    process.arguments = ["import"] + arguments
    process.currentDirectoryURL = folder
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    process.standardInput = FileHandle.nullDevice
    try process.run()
    return ProgramRun(of: process, output, errors)
  }

  @Test(
    "each page of the feed is imported once; losing revisions are written down, and deletions follow (I3)")
  func feed() async throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let schema = try #require(Self.schema)
    try Data(schema.json.bytes).write(to: folder.appendingPathComponent("holdfast.json"))
    // The first page is full, so that a second one is asked for.
    let many = (0..<197).map {
      Self.change($0 + 4, #"{"_id": "item:n\#($0)", "type": "item", "listId": "list:1", "title": "n"}"#)
    }
    let first =
      [
        Self.change(1, #"{"_id": "_design/app", "_rev": "1-a"}"#),
        Self.change(
          2,
          #"{"_id": "item:1", "_rev": "2-b", "_conflicts": ["2-a"], "type": "item", "listId": "list:1", "title": "Bread", "tags": ["x"], "price": 1}"#
        ),
        Self.change(3, #"{"_id": "list:1", "_rev": "1-a", "title": "Groceries"}"#),
      ] + many
    let couch = try HostileServer([
      Self.answer(
        #"{"results": [\#(first.joined(separator: ","))], "last_seq": "200-g1AAAA", "pending": 1}"#),
      Self.answer(
        #"{"_id": "item:1", "_rev": "2-a", "type": "item", "listId": "list:1", "title": "Rye bread"}"#),
      Self.answer(#"{"results": [], "last_seq": "200-g1AAAA", "pending": 0}"#),
      Self.answer(
        #"{"results": [\#(Self.change(201, #"{"_id": "item:1", "_rev": "3-a", "_deleted": true}"#))], "last_seq": "201-g1AAAA", "pending": 0}"#
      ),
    ])
    defer { couch.stop() }
    let address = "\(couch.url.replacing("http://", with: "http://ann:pw@"))/lists"
    let common = ["--schema", "holdfast.json", "--into", "device.db", "--conflicts", "losers.jsonl"]
    let run = try run(["couchdb", address] + common, in: folder)
    #expect(run.status == 0)
    #expect(run.output.contains("199 records created"))
    #expect(run.errors.contains("items.price"))
    #expect(run.output.contains("--since 200-g1AAAA"))
    #expect(!(run.output + run.errors).contains("pw"))
    let losers = try String(contentsOf: folder.appendingPathComponent("losers.jsonl"), encoding: .utf8)
    #expect(losers.contains("Rye bread"))
    let requests = couch.received.map { String(decoding: $0, as: UTF8.self) }
    #expect(requests[0].hasPrefix("GET /lists/_changes?include_docs=true&conflicts=true&limit=200&since=0 "))
    #expect(requests[0].contains("Authorization: Basic YW5uOnB3"))
    #expect(requests[1].hasPrefix("GET /lists/item%3a1?rev=2-a "))
    #expect(requests[2].contains("since=200-g1AAAA"))
    let again = try self.run(
      ["couchdb", address, "--update", "--since", "200-g1AAAA"] + common, in: folder)
    #expect(again.output.contains("1 deleted"))
    let store = try Store(path: folder.appendingPathComponent("device.db").path, schema: schema)
    let count = try await store.read { try $0.first(Int.self, "SELECT count(*) FROM items") }
    #expect(count == 197)
  }

  @Test("of two documents whose ids differ in capital letters, the second is named as left out (I3)")
  func capitals() async throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let schema = try #require(Self.schema)
    try Data(schema.json.bytes).write(to: folder.appendingPathComponent("holdfast.json"))
    let id = "3fe9b4eb-9dad-41d1-80b4-00c04fd430c8"
    let changes = [id, id.uppercased()].enumerated().map {
      Self.change($0 + 1, #"{"_id": "\#($1)", "type": "list", "title": "List \#($0)"}"#)
    }
    let couch = try HostileServer([
      Self.answer(#"{"results": [\#(changes.joined(separator: ","))], "last_seq": "2-g1AAAA", "pending": 0}"#)
    ])
    defer { couch.stop() }
    let run = try run(
      ["couchdb", "\(couch.url)/lists", "--schema", "holdfast.json", "--into", "device.db"], in: folder)
    #expect(
      run.output.contains("1 records created") || run.output.contains("1 record created"), "\(run.output)")
    #expect((run.output + run.errors).contains(id.uppercased()), "\(run.output) \(run.errors)")
    let store = try Store(path: folder.appendingPathComponent("device.db").path, schema: schema)
    #expect(try await store.read { try $0.fetch(String.self, "SELECT title FROM lists") } == ["List 0"])
  }

  @Test("losing revisions are appended to lines of JSON, and to no other file (I3)")
  func conflictsFile() throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    try Data(#require(Self.schema).json.bytes).write(to: folder.appendingPathComponent("holdfast.json"))
    let database = folder.appendingPathComponent("other.db")
    try SQLiteConnection(path: database.path).execute("CREATE TABLE a (b); INSERT INTO a VALUES (1)")
    let before = try Data(contentsOf: database)
    let run = try run(
      [
        "couchdb", "http://127.0.0.1:1/lists", "--schema", "holdfast.json", "--into", "device.db",
        "--conflicts",
        "other.db",
      ], in: folder)
    #expect(run.status == 1 && run.errors.contains("lines of JSON"), "\(run.errors)")
    #expect(try Data(contentsOf: database) == before)
  }

  @Test("what is no database of CouchDB is said, with the answer and without the password")
  func refusals() throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    try Data(#require(Self.schema).json.bytes).write(to: folder.appendingPathComponent("holdfast.json"))
    let couch = try HostileServer([
      Self.answer(
        #"{"error": "not_found", "reason": "Database does not exist."}"#, status: "404 Object Not Found"),
      Self.answer("<html>"), Self.answer("{}"),
    ])
    defer { couch.stop() }
    let address = "\(couch.url.replacing("http://", with: "http://ann:secret@"))/lists"
    for part in ["404: Database does not exist.", "no JSON", "no database of CouchDB"] {
      let run = try run(["couchdb", address, "--schema", "holdfast.json", "--into", "device.db"], in: folder)
      #expect(run.status == 1)
      #expect(run.errors.contains(part))
      #expect(!run.errors.contains("secret"))
    }
  }
}
