import Foundation
import HoldfastCore
import HoldfastHTTP
import HoldfastSQLite
@testable import HoldfastServer
import ServerScenes
import Testing

@Suite("Snapshots of zones")
struct SnapshotTests {
  private let server: TestServer

  init() throws { server = try TestServer() }

  @Test("hold the records of the zone as it is, and its change token (I4, I5)")
  func contents() throws {
    let ann = try server.signUp("ann")
    let list = try ann.makeList()
    let milk = try ann.makeItem(list, "Milk")
    let gone = try ann.makeItem(list, "Gone")
    _ = try ann.makeItem(try ann.makeList("Other"), "Elsewhere")
    try ann.sync([.delete("items", gone, rev: 1)])
    try ann.pull()
    let file = try ann.snapshot(list).opened()
    #expect(
      try file.rows("SELECT id, zone, rev, title, done FROM items") == [
        [.text(milk), .text(list), .integer(1), .text("Milk"), .integer(0)]
      ])
    #expect(try file.rows("SELECT id FROM lists") == [[.text(list)]])
    #expect(try file.value("SELECT name FROM members")?.text == "ann")
    let token = try #require(ann.acks[list])
    #expect(
      try file.rows("SELECT zone, role, token, ack, sent FROM holdfast_zones") == [
        [.text(list), .text(""), .text(token), .text(token), .integer(0)]
      ])
    #expect(
      try file.rows("SELECT device, user, token, replica FROM holdfast_local") == [
        [.null, .null, .null, .text("")]
      ])
    #expect(try file.value("PRAGMA integrity_check")?.text == "ok")
    #expect(try server.findings().isEmpty)
  }

  @Test("of thousands of records are whole, page after page")
  func large() throws {
    let ann = try server.signUp("ann")
    let list = try ann.makeList()
    let text = String(repeating: "é \"quoted\" ", count: 200)
    for _ in 0..<6 {
      try ann.sync(
        (0..<500).map { number in
          .create(
            "items", ann.newID(),
            ["list_id": .string(list), "title": .string("item \(number)"), "note": .string(text)])
        })
    }
    let file = try ann.snapshot(list).opened()
    #expect(try file.value("SELECT count(*) FROM items WHERE note = ?", [.text(text)])?.integer == 3000)
    try ann.pull()
    #expect(try file.value("SELECT token FROM holdfast_zones")?.text == ann.acks[list])
  }

  @Test(
    "made by a command take away what killed ones left, and no other's files, nor those of one that goes on (I4)"
  )
  func leftovers() throws {
    let ann = try server.signUp("ann")
    let list = try ann.makeList()
    let folder = NSTemporaryDirectory() + "/holdfast-leftovers-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let running = try SnapshotDraft(of: folder + "/sn", random: { [UInt8](repeating: 0x22, count: $0) })
    let own = ["sn.22222222.new", "sn.22222222.new.build", "sn.22222222.new.lock"]
    // Without a lock's file, with contents in it, and of another snapshot.
    let others = ["sn.33333333.new", "sn.44444444.new.lock", "sn.new.lock", "other.11111111.new.lock"]
    let dead = ["", "-journal", ".build", ".build-journal"].map { "sn.11111111.new" + $0 }
    for name in own.dropLast() + others.prefix(2) + dead {
      try Data("text".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
    }
    for name in others.suffix(2) + ["sn.11111111.new.lock"] {
      try Data().write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
    }
    _ = try SnapshotWriter(server.location).write(.zone(list), to: folder + "/sn")
    let left = { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }
    #expect(try left() == (["sn"] + own + others).sorted())
    running.remove()
    #expect(try left() == (["sn"] + others).sorted())
  }

  @Test("are no stranger's: 404, also from the cache, and again after leaving (I10)")
  func strangers() throws {
    let (ann, bob) = (try server.signUp("ann"), try server.signUp("bob"))
    let list = try ann.makeList()
    #expect(try ann.snapshot(list).status == 200)
    #expect(try bob.snapshot(list).status == 404)
    let membership = try ann.share(list, with: "bob", as: .viewer)
    let whole = try bob.snapshot(list)
    #expect(whole.status == 200)
    try ann.sync([.delete("members", membership, rev: 1)])
    #expect(try bob.snapshot(list).status == 404)
    let tag = try #require(whole.header("ETag"))
    #expect(try bob.snapshot(list, ["If-Match": tag, "Range": "bytes=0-9"]).status == 404)
    for zone in ["nothing", "%00", String(repeating: "z", count: 100)] {
      #expect(try ann.snapshot(zone).status == 404)
    }
    #expect(
      try server.respond(to: TestServer.request("GET", "/v1/zones/\(list)/snapshot", [], token: nil)).status
        == 401)
    #expect(
      try server.respond(to: TestServer.request("POST", "/v1/zones/\(list)/snapshot", [], token: ann.token))
        .status == 405)
    #expect(try server.findings().isEmpty)
  }

  @Test("of public zones are everybody's")
  func publicZones() throws {
    let (ann, bob) = (try server.signUp("ann"), try server.signUp("bob"))
    try Administration(server.location).grant(zone: "catalogue", name: "ann", role: .editor)
    try ann.sync([.create("products", ann.newID(), ["name": "Tea"])])
    #expect(try bob.snapshot("catalogue").opened().value("SELECT name FROM products")?.text == "Tea")
  }

  @Test("are built once a state, and kept over a restart")
  func cached() throws {
    let ann = try server.signUp("ann")
    let list = try ann.makeList()
    let snapshots = try #require(server.inline?.api.snapshots)
    let first = try ann.snapshot(list)
    #expect(try ann.snapshot(list).content == first.content)
    #expect(try ann.snapshot(list, method: "HEAD").header("ETag") == first.header("ETag"))
    #expect(snapshots.builds == 1)
    _ = try ann.makeItem(list)
    #expect(try ann.snapshot(list).header("ETag") != first.header("ETag"))
    #expect(snapshots.builds == 2)
    try server.reopen()
    let again = try #require(server.inline?.api.snapshots)
    #expect(try ann.snapshot(list).status == 200)
    if case .directory = server.location { #expect(again.builds == 0) }
  }

  @Test("that are asked for at once are built once")
  func atOnce() throws {
    let ann = try server.signUp("ann")
    let list = try ann.makeList()
    let api = try #require(server.inline?.api)
    let request = ann.snapshotRequest(list)
    // Both have found nothing in the cache before either is built.
    let steps = [api.handle(request), api.handle(request)]
    let answers = steps.compactMap { step -> HTTPResponse? in
      guard case .build(let build) = step, case .answer(let answer) = build() else { return nil }
      return answer
    }
    #expect(answers.count == 2)
    #expect(answers[0].header("ETag") == answers[1].header("ETag"))
    #expect(api.snapshots?.builds == 1)
  }

  @Test("are built again when their folder was removed (I12)")
  func removedFolder() throws {
    let ann = try server.signUp("ann")
    let list = try ann.makeList()
    _ = try ann.snapshot(list)
    let folder = try #require(server.inline?.api.snapshots?.cache.folder)
    try FileManager.default.removeItem(atPath: folder)
    #expect(try ann.snapshot(list).opened().rows("SELECT id FROM lists") == [[.text(list)]])
  }

  @Test(
    "of another schema or epoch are removed: nobody can ask for them, and they may name erased users (I10)")
  func otherEras() throws {
    let ann = try server.signUp("ann")
    let list = try ann.makeList("secret")
    _ = try ann.snapshot(list)
    let folder = try #require(server.inline?.api.snapshots?.cache.folder)
    func files() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: folder).count }
    #expect(try files() == 2)
    let text = TestServer.text.replacing(
      #""title": {"type": "text", "required": true, "max_length": 20}, "#,
      with: #""title": {"type": "text", "required": true, "max_length": 21}, "#)
    try server.reopen(SyncSchema(json: Array(text.utf8)))
    let snapshots = try #require(server.inline?.api.snapshots)
    if snapshots.cache.folder == folder { #expect(try files() == 0) }
    _ = try snapshots.snapshot(of: list, atLeast: 0)
    #expect(snapshots.cache.latest(snapshots.key(list), atLeast: 0) != nil)
    try #require(server.inline).api.database.known.see(History(epoch: "0badcafe"))
    try snapshots.removeErased()
    #expect(snapshots.cache.isEmpty)
  }

  @Test("keep to the bound of the cache, and what was half built goes")
  func bound() throws {
    let ann = try server.signUp("ann")
    let folder = server.folder.path + "-cache"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for name in ["holdfast-building-0123", "somebody-elses"] {
      try Data([1]).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
    }
    let database = try server.location.open(schema: nil, random: server.world.environment.random)
    let random = server.world.environment.random
    let lists = try (0..<4).map { _ in try ann.makeList() }
    let one = try Snapshots(database, folder: folder, limit: .max, random: random)
      .snapshot(of: lists[0], atLeast: 0)
    #expect(!FileManager.default.fileExists(atPath: "\(folder)/holdfast-building-0123"))
    let snapshots = try Snapshots(database, folder: folder, limit: one.size * 2 + 100, random: random)
    for list in lists { _ = try snapshots.snapshot(of: list, atLeast: 0) }
    #expect(snapshots.builds == 3)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(names.count == 5 && names.contains("somebody-elses"))
    #expect(snapshots.cache.latest(snapshots.key(lists[3]), atLeast: 0) != nil)
    #expect(snapshots.cache.latest(snapshots.key(lists[0]), atLeast: 0) == nil)
    database.close()
  }
}

@Suite("The file of a snapshot")
struct SnapshotTargetTests {
  private let server: TestServer
  private let folder: String

  init() throws {
    server = try TestServer()
    folder = server.path + "-out"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
  }

  private func write(_ path: String) throws {
    _ = try SnapshotWriter(server.location).write(.publicZones, to: path)
  }

  /// Expects that a path is refused, and that its file stays.
  private func refuses(_ path: String, _ comment: Comment, isCompared: Bool = true) {
    let before = try? Data(contentsOf: URL(fileURLWithPath: path))
    var code: ServerError.Code?
    do { try write(path) } catch { code = (error as? ServerError)?.code }
    #expect(code == .refused, comment)
    if isCompared { #expect((try? Data(contentsOf: URL(fileURLWithPath: path))) == before, comment) }
  }

  @Test("replaces a snapshot and an empty file, and nothing else (I2, I3)") func replaced() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/seed.db"
    try write(path)
    try write(path)
    try Data().write(to: URL(fileURLWithPath: folder + "/empty.db"))
    try write(folder + "/empty.db")
    // What is not a snapshot.
    try Data("notes".utf8).write(to: URL(fileURLWithPath: folder + "/notes.txt"))
    refuses(folder + "/notes.txt", "another program's file")
    try SQLiteConnection(path: folder + "/other.db").execute("CREATE TABLE a (b); INSERT INTO a VALUES (1)")
    refuses(folder + "/other.db", "another program's database")
    refuses(folder, "a folder")
    // A snapshot that has become a device's database, open or closed.
    try FileManager.default.copyItem(atPath: path, toPath: folder + "/device.db")
    let device = try SQLiteConnection(path: folder + "/device.db")
    try device.execute("PRAGMA journal_mode = WAL; UPDATE holdfast_local SET name = NULL")
    refuses(folder + "/device.db", "a device's open database")
    refuses(folder + "/device.db-wal", "a log")
    device.close()
    refuses(folder + "/device.db", "a device's closed database")
    refuses(folder + "/device.db-journal", "a log that is not there yet")
    for change in [
      "UPDATE holdfast_local SET token = 'x'",
      "UPDATE holdfast_local SET device = 'd'",
      "INSERT INTO holdfast_quarantine (at, operation, problem, body) VALUES (0, 0, '', '')",
    ] {
      let used = folder + "/used.db"
      try? FileManager.default.removeItem(atPath: used)
      try FileManager.default.copyItem(atPath: path, toPath: used)
      let connection = try SQLiteConnection(path: used)
      try connection.execute(change)
      connection.close()
      refuses(used, "\(change)")
    }
    try FileManager.default.createSymbolicLink(atPath: folder + "/null", withDestinationPath: "/dev/null")
    refuses(folder + "/null", "a device file")
  }

  @Test("is never in the data directory of the server (I2)", .enabled(if: Engine.used == .sqlite))
  func dataDirectory() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    // A server checkpoints its file meanwhile.
    let inode = try FileManager.default.attributesOfItem(atPath: server.database)[.systemFileNumber] as? Int
    for name in ["holdfast.db", "holdfast.history", "new.db", "snapshots/new.db"] {
      refuses(server.path + "/" + name, "\(name)", isCompared: false)
    }
    let link = folder + "/link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: server.path)
    refuses(link + "/holdfast.db", "through a link", isCompared: false)
    refuses(folder + "/../\(server.folder.lastPathComponent)/holdfast.db", "a way round", isCompared: false)
    let now = try FileManager.default.attributesOfItem(atPath: server.database)[.systemFileNumber] as? Int
    #expect(inode != nil && now == inode)
    #expect(!FileManager.default.fileExists(atPath: server.path + "/new.db"))
    _ = try server.signUp("ann")
  }
}

@Suite("A snapshot of a user")
struct UserSnapshotTests {
  @Test("has all that the user may read, and nothing of others (I10)")
  func user() throws {
    let server = try TestServer()
    let (ann, bob) = (try server.signUp("ann"), try server.signUp("bob"))
    let own = try ann.makeList("own")
    let shared = try bob.makeList("shared")
    let others = try bob.makeList("others")
    for list in [own] { _ = try ann.makeItem(list) }
    for list in [shared, others] { _ = try bob.makeItem(list) }
    try ann.sync([.create("notes", ann.newID(), ["text": "mine"])])
    try bob.sync([.create("notes", bob.newID(), ["text": "his"])])
    _ = try bob.share(shared, with: "ann", as: .viewer)
    let path = server.folder.path + "-ann.db"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let zones = try SnapshotWriter(server.location).write(.user("ann"), to: path)
    #expect(TextSet(zones.map(\.zone)) == [own, shared, ann.user, "catalogue"])
    let file = try SQLiteConnection(path: path, access: .readOnly)
    let schema = try TestServer.schema()
    for table in schema.tables {
      let found = try file.rows("SELECT DISTINCT zone FROM \"\(table.name)\"").compactMap { $0[0].text }
      #expect(TextSet(found).isSubset(of: [own, shared, ann.user, "catalogue"]))
    }
    #expect(try file.rows("SELECT text FROM notes") == [[.text("mine")]])
    #expect(try file.value("SELECT count(*) FROM items")?.integer == 2)
    #expect(
      try file.rows("SELECT role FROM holdfast_zones WHERE zone = ?", [.text(shared)]) == [[.text("viewer")]])
    #expect(
      try file.rows("SELECT user, name, device FROM holdfast_local") == [
        [.text(ann.user), .text("ann"), .null]
      ])
    #expect(!(try Data(contentsOf: URL(fileURLWithPath: path))).contains(Data("others".utf8)))
    #expect(throws: ServerError.self) { try SnapshotWriter(server.location).write(.user("eve"), to: path) }
    #expect(throws: ServerError.self) { try SnapshotWriter(server.location).write(.zone("eve"), to: path) }
    // What failed has touched nothing and left nothing.
    #expect(try file.value("SELECT count(*) FROM items")?.integer == 2)
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasPrefix(URL(fileURLWithPath: path).lastPathComponent) }
    #expect(left.count == 1)
  }
}
