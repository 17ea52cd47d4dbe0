import Foundation
import HoldfastCore
import TemporaryPostgres
import Testing

/// Two servers and a directory, each a process of its own: docs/DIRECTORY.md.
@Suite struct DirectoryProcessTests {
  @Test("a session that ends in a server that is killed then ends in the other database, too (I10)")
  func killed() throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let url = try TemporaryPostgres.shared.makeDatabase()
    let schema = try SyncSchema(json: Array(Self.schema.utf8))
    #expect(try Programs.run("holdfast", ["directory", "init", "--directory", url]).status == 0)
    let servers = try ["a", "b"].map { name in
      let own = folder.appendingPathComponent(name)
      try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
      let shared = try SharedDatabase.make(in: own)
      #expect(try ServerProcess(folder: own, schema: schema, shared).stop() == 0)
      let words = ["directory", "join", name, "--url", "http://127.0.0.1:1", "--directory", url]
      let joined = try Programs.run("holdfast", words + shared.options)
      #expect(joined.status == 0, "\(joined.errors)")
      let refused = try Programs.run("holdfast", ["serve", "--listen", "127.0.0.1:0"] + shared.options)
      #expect(refused.status == 1 && refused.errors.contains("--directory"))
      return try ServerProcess(folder: own, schema: schema, shared, options: ["--directory", url])
    }
    let (a, b) = (servers[0], servers[1])
    let token = try RestConnection.signUp("ann", port: a.port)
    let home = try RestConnection(port: a.port, token: token)
    let pass = try home.send("POST", "/v1/passes", ["database": "b"]).json["pass"]
    let body: JSONValue = ["pass": try #require(pass), "device": ["name": "phone"]]
    let session = try RestConnection(port: b.port).send("POST", "/v1/sessions", body)
    #expect(session.status == 200)
    let guest = try RestConnection(port: b.port, token: #require(session.json["token"]?.stringValue))
    #expect(try guest.send("POST", "/v1/tables/lists", ["columns": ["title": "Groceries"]]).status == 201)
    #expect(try home.send("DELETE", "/v1/sessions/current").status == 204)
    a.kill()
    try a.start()
    try blockUntil { try guest.send("GET", "/v1/zones").status == 401 }
    let listing = try Programs.run("holdfast", ["directory", "list", "--directory", url])
    #expect(listing.status == 0 && listing.output.contains("http://127.0.0.1:1"))
    #expect(a.stop() == 0 && b.stop() == 0)
  }

  private static let schema = """
    {"holdfast": 1, "name": "lists", "tables": {
      "lists": {"zone": "root", "columns": {"title": {"type": "text", "required": true}}}}}
    """
}
