import Foundation
import Holdfast
import HoldfastSQLite
import TemporaryPostgres
import Testing

/// A user of one database who is a guest of another one, over one directory: docs/DIRECTORY.md.
@Suite("A folder with a directory")
struct FolderDirectoryTests {
  /// A database of the directory, and its server.
  private struct Place {
    let scene: Scene
    let server: ServerProcess

    init(_ name: String, in directory: String) throws {
      scene = try Scene(schema: Self.schema())
      scene.server.kill()
      try Self.run(["join", name, "--url", "http://127.0.0.1:1"] + scene.server.shared.options, directory)
      server = try ServerProcess(
        folder: scene.folder, schema: scene.schema, scene.server.shared, options: ["--directory", directory])
      // Only now its address is known.
      try Self.run(
        ["join", name, "--url", server.address.absoluteString] + scene.server.shared.options, directory)
    }

    /// The items are counted.
    private static func schema() throws -> SyncSchema {
      let schema = try Scene.schema()
      return try SyncSchema(
        name: schema.name,
        tables: schema.tables.filter { !$0.isBuiltIn }.map { table in
          guard table.name == Row.table else { return table }
          return TableSchema(
            table.name, zone: table.zone,
            columns: table.columns + [
              ColumnSchema("amount", .integer, required: true, default: .integer(1), policy: .counter)
            ])
        })
    }

    static func run(_ words: [String], _ directory: String) throws {
      let run = try Programs.run("holdfast", ["directory"] + words + ["--directory", directory])
      try #require(run.status == 0, "\(run.output)\(run.errors)")
    }
  }

  private let directory: String
  private let a: Place
  private let b: Place
  /// Ann's home is a, Bob's is b.
  private let phone: StoreFolder
  private let engine: FolderEngine
  private let bob: Device
  private let list: String

  init() async throws {
    directory = try TemporaryPostgres.shared.makeDatabase()
    try Place.run(["init"], directory)
    (a, b) = (try Place("a", in: directory), try Place("b", in: directory))
    phone = try StoreFolder(path: a.scene.folder.appendingPathComponent("phone").path, schema: a.scene.schema)
    engine = FolderEngine(folder: phone, server: a.server.address)
    try await engine.signUp(name: "ann", password: "correct-horse", device: "phone")
    bob = try Device("bob", in: b.scene.folder, server: b.server.address, schema: b.scene.schema)
    try await bob.engine.signUp(name: "bob", password: "correct-horse", device: "bob")
    list = try await bob.store.write { db in
      let id = db.newID()
      try db.execute("INSERT INTO lists (id, title) VALUES (?, 'ours')", [.text(id)])
      return id
    }
    try await bob.engine.sync()
    let invitation = try await bob.engine.invite(to: list, role: .editor)
    #expect(try await engine.join("b").accept(invitation: invitation.token) == list)
    #expect(try await engine.sync().failures.isEmpty)
  }

  private func lists(_ folder: StoreFolder) async throws -> [String] {
    try await folder.read { try $0.fetch(String.self, "SELECT title FROM lists ORDER BY title") }
  }

  private func add(_ title: String) async throws {
    try await phone.write(in: list) { [list] db in
      try db.insert([Row(id: db.newID(), list_id: list, title: title, position: "")], at: .last)
    }
  }

  private func titlesOfBob() async throws -> [String] {
    try await bob.engine.sync()
    return try await bob.store.read { try $0.fetch(String.self, "SELECT title FROM items ORDER BY title") }
  }

  @Test("accepts a link of another database, and edits there; a second device finds it by itself (I7, I10)")
  func guest() async throws {
    #expect(try await lists(phone) == ["ours"])
    try await add("Milk")
    #expect(try await engine.sync().failures.isEmpty)
    #expect(try await titlesOfBob() == ["Milk"])
    let laptop = try StoreFolder(
      path: a.scene.folder.appendingPathComponent("laptop").path, schema: a.scene.schema)
    let other = FolderEngine(folder: laptop, server: a.server.address)
    try await other.signIn(name: "ann", password: "correct-horse", device: "laptop")
    #expect(laptop.databases.map(\.name) == ["home", "b"])
    #expect(try await other.sync().failures.isEmpty)
    #expect(try await lists(laptop) == ["ours"])
    await laptop.close()
    await phone.close()
  }

  @Test("a zone moves home: the folder finds it, and sends what was written meanwhile (I1, I3, I7)")
  func moved() async throws {
    try await editOffline()
    try move(from: b, to: a)
    for _ in 0..<3 { #expect(try await engine.sync().failures.isEmpty) }
    #expect(try await phone.quarantined().isEmpty)
    #expect(try await lists(phone) == ["ours"])
    let titles = ["Bread", "Oat milk", "Tea"]
    func read(_ folder: StoreFolder) async throws -> [String] {
      try await folder.read { try $0.fetch(String.self, "SELECT title FROM items ORDER BY title") }
    }
    #expect(try await read(phone) == titles)
    let tablet = try StoreFolder(
      path: a.scene.folder.appendingPathComponent("tablet").path, schema: a.scene.schema)
    let other = FolderEngine(folder: tablet, server: a.server.address)
    try await other.signIn(name: "ann", password: "correct-horse", device: "tablet")
    #expect(try await other.sync().failures.isEmpty)
    #expect(try await read(tablet) == titles)
    await tablet.close()
    await phone.close()
  }

  @Test("a launch takes no pass while the last one is young (I12)") func launched() async throws {
    let file = a.scene.folder.appendingPathComponent("phone/b.db").path
    func session() throws -> Int64? {
      try SQLiteConnection(path: file, access: .readOnly).value("SELECT session FROM holdfast_local")?.integer
    }
    let before = try session()
    let launched = FolderEngine(folder: phone, server: a.server.address)
    try await launched.findDatabases()
    #expect(try before == session())
    #expect(try await launched.sync().failures.isEmpty)
    await phone.close()
  }

  /// Three items that all have, and then what the servers have not heard of when the zone moves: an update, a deletion and a new item.
  private func editOffline() async throws {
    for title in ["Milk", "Eggs", "Bread"] { try await add(title) }
    #expect(try await engine.sync().failures.isEmpty)
    try await phone.write(in: list) { db in
      try db.execute("UPDATE items SET title = 'Oat milk' WHERE title = 'Milk'")
    }
    try await phone.write(in: list) { db in try db.execute("DELETE FROM items WHERE title = 'Eggs'") }
    try await add("Tea")
  }

  private func move(from: Place, to: Place) throws {
    let run = try Programs.run(
      "holdfast",
      [
        "zones", "move", list, "--from", from.scene.server.shared.options[1], "--to",
        to.scene.server.shared.options[1], "--directory", directory,
      ])
    try #require(run.status == 0, "\(run.output)\(run.errors)")
  }

  @Test(
    "a zone moves away and back while what was refused waits: it is sent, also when what was left was dropped (I1, I3)",
    arguments: [false, true])
  func movedBack(_ drops: Bool) async throws {
    try await editOffline()
    try move(from: b, to: a)
    if drops {
      let run = try Programs.run("holdfast", ["zones", "drop", list] + b.scene.server.shared.options)
      try #require(run.status == 0, "\(run.output)\(run.errors)")
    }
    try await engine.engine(of: "b")?.sync()
    #expect(try await phone.quarantined().count == 3)
    try move(from: a, to: b)
    for _ in 0..<3 { #expect(try await engine.sync().failures.isEmpty) }
    #expect(try await phone.quarantined().isEmpty)
    #expect(try await titlesOfBob() == ["Bread", "Oat milk", "Tea"])
    await phone.close()
  }

  @Test("a device that was copied with refused edits carries them over once with its copy (I1, I7)")
  func copied() async throws {
    try await add("Milk")
    #expect(try await engine.sync().failures.isEmpty)
    try await phone.write(in: list) { db in try db.execute("UPDATE items SET amount = amount + 5") }
    try await add("Tea")
    try move(from: b, to: a)
    try await engine.engine(of: "b")?.sync()
    #expect(try await phone.quarantined().count == 2)
    await phone.close()
    let path = a.scene.folder.appendingPathComponent("phone").path
    try FileManager.default.copyItem(atPath: path, toPath: path + "-copy")
    let folders = try [path, path + "-copy"].map { try StoreFolder(path: $0, schema: a.scene.schema) }
    for (number, folder) in folders.enumerated() {
      // They are two devices from then on.
      try await folder.write { db in
        try db.execute("INSERT INTO lists (title) VALUES (?)", [.text("list \(number)")])
      }
    }
    let engines = folders.map { FolderEngine(folder: $0, server: a.server.address) }
    for _ in 0..<4 { for engine in engines { #expect(try await engine.sync().failures.isEmpty) } }
    for folder in folders {
      let items = try await folder.read {
        try $0.fetch(String.self, "SELECT title || amount FROM items ORDER BY title")
      }
      #expect(items == ["Milk6", "Tea1"])
      #expect(try await folder.quarantined().isEmpty)
      await folder.close()
    }
  }

  @Test("a session that ended there begins again with a pass; nobody has to sign in (I3)") func again()
    async throws
  {
    let there = try #require(engine.engine(of: "b"))
    try await add("Milk")
    try await there.signOut()
    for await status in engine.statuses {
      #expect(status.needsSignIn.isEmpty)
      break
    }
    #expect(try await engine.sync().failures.isEmpty)
    #expect(try await titlesOfBob() == ["Milk"])
    await phone.close()
  }

  @Test("a home that is lost keeps no other database from syncing (I12)") func lostHome() async throws {
    a.server.kill()
    try await add("Milk")
    let summary = try await engine.sync()
    #expect(summary.failures.map(\.database) == ["home"] && summary.sent > 0)
    #expect(try await titlesOfBob() == ["Milk"])
    try a.server.start()
    #expect(try await engine.sync().failures.isEmpty)
    await phone.close()
  }

  @Test("a file of that name that belongs to somebody else is left alone (I10)") func otherUser() async throws
  {
    let tablet = try StoreFolder(
      path: a.scene.folder.appendingPathComponent("tablet").path, schema: a.scene.schema)
    try await tablet.add("b", server: b.server.address)
    let other = FolderEngine(folder: tablet, server: a.server.address)
    try await #require(other.engine(of: "b")).signUp(
      name: "carl", password: "correct-horse", device: "tablet")
    try await other.signIn(name: "ann", password: "correct-horse", device: "tablet")
    let error = await #expect(throws: StoreError.self) { try await other.findDatabases() }
    #expect(error?.code == .otherUser)
    #expect(try await tablet.store(of: "b")?.account()?.name == "carl")
    await tablet.close()
    await phone.close()
  }
}
