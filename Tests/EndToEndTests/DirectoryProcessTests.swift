import Foundation
import HoldfastCore
import HoldfastServer
import TemporaryPostgres
import Testing

/// Two servers and a directory, each a process of its own: docs/DIRECTORY.md.
@Suite final class DirectoryProcessTests {
  private let folder: URL
  private let url: String
  private let (a, b): (ServerProcess, ServerProcess)

  init() throws {
    folder = try Programs.makeFolder()
    url = try TemporaryPostgres.shared.makeDatabase()
    let schema = try SyncSchema(json: Array(Self.schema.utf8))
    #expect(try Programs.run("holdfast", ["directory", "init", "--directory", url]).status == 0)
    let servers = try ["a", "b"].map { [folder, url] name in
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
    (a, b) = (servers[0], servers[1])
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  @Test("a session that ends in a server that is killed then ends in the other database, too (I10)")
  func killed() throws {
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

  @Test(
    "a move whose command is killed anywhere goes on: the zone is in one database, and whole (I2, I6, I8)",
    .timeLimit(.minutes(10)))
  func moved() throws {
    let seed = UInt64.random(in: 0..<1_000_000)
    print("move: seed \(seed)")
    var random = SeededRandom(seed: seed)
    let ann = try RestConnection(port: a.port, token: RestConnection.signUp("ann", port: a.port))
    let made = try ann.send("POST", "/v1/tables/lists", ["columns": ["title": "Groceries"]])
    let list = try #require(made.json["id"]?.stringValue)
    for _ in 0..<3 {
      let items = (0..<1000).map { number -> JSONValue in
        ["columns": ["list_id": .string(list), "title": .string("\(number)")]]
      }
      #expect(try ann.send("POST", "/v1/tables/items", ["records": .array(items)]).status < 300)
    }
    var midway = 0
    for round in 0..<6 {
      let (from, to) = round % 2 == 0 ? (a, b) : (b, a)
      let move = Process()
      move.executableURL = Programs.path("holdfast")
      move.arguments = Self.move(list, from, to, url)
      (move.standardOutput, move.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
      try move.run()
      // Not a wait for anything: the moment of the kill is what is random.
      usleep(UInt32(random.next() % 500_000))
      kill(move.processIdentifier, SIGKILL)
      move.waitUntilExit()
      let (left, arrived) = (try Self.state(list, from), try Self.state(list, to))
      if left?.last == (round % 2 == 0 ? "b" : "a"), arrived?.last != "" { midway += 1 }
      // Whose server still holds the lock of the command that was killed is asked again.
      try blockUntil { try Programs.run("holdfast", Self.move(list, from, to, self.url)).status == 0 }
      #expect(try Self.state(list, to) == ["1", "3001", ""])
      #expect(try Self.state(list, from)?.last == (round % 2 == 0 ? "b" : "a"))
    }
    print("move: \(midway) of 6 were killed midway")
    #expect(try ann.send("GET", "/v1/zones/\(list)/changes").status == 200)
    for server in [a, b] { #expect(try Administration(server.shared.location).doctor().isEmpty) }
    #expect(a.stop() == 0 && b.stop() == 0)
  }

  private static func move(_ list: String, _ from: ServerProcess, _ to: ServerProcess, _ directory: String)
    -> [String]
  {
    let places = [from, to].map { server in
      switch server.shared {
      case .directory(let folder): folder.path
      case .postgres(let location): location.direct ?? location.url
      }
    }
    return ["zones", "move", list, "--from", places[0], "--to", places[1], "--directory", directory]
  }

  /// Members, records, and where a zone has moved to; nil where it never was.
  private static func state(_ list: String, _ server: ServerProcess) throws -> [String]? {
    try Administration(server.shared.location).zones().rows.first { $0[0] == list }.map {
      Array($0.suffix(3))
    }
  }

  private static let schema = """
    {"holdfast": 1, "name": "lists", "tables": {
      "lists": {"zone": "root", "columns": {"title": {"type": "text", "required": true}}},
      "items": {"zone": {"parent": "list_id"}, "columns": {"list_id": {"type": "reference", "to": "lists", "required": true}, "title": {"type": "text"}}}}}
    """
}
