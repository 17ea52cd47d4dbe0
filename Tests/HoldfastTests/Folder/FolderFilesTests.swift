import Foundation
import HoldfastSQLite
import Testing

@testable import Holdfast

@Suite("The files of a folder")
struct FolderFilesTests {
  @Test("the eleventh database is withheld by name, and comes when another one has left (I12)")
  func eleventh() async throws {
    let fixture = try FolderFixture()
    let folder = try fixture.open()
    for number in 1...9 { try await folder.add("d\(number)") }
    #expect(folder.databases.allSatisfy { $0.state == .open })
    let eleventh = try await folder.add("a", server: URL(string: "https://a.example"))
    #expect(eleventh.state == .withheld)
    #expect(folder.store(of: "a") == nil)
    #expect(!FileManager.default.fileExists(atPath: fixture.file("a")))
    for (number, (_, store)) in folder.files.stores.enumerated() {
      try await store.write { try $0.insert(List(id: $0.newID(), title: "l\(number)")) }
    }
    #expect(try await FolderFixture.titles(folder).count == 10)
    try await folder.leave(["d5"], .discard)
    #expect(folder.databases.map(\.name).contains("d5") == false)
    #expect(
      folder.databases.last
        == FolderDatabase(name: "a", server: URL(string: "https://a.example"), state: .open))
    #expect(try await FolderFixture.titles(folder).count == 9)
  }

  @Test("a name that is no file's, or means something in SQL, is refused")
  func names() async throws {
    let fixture = try FolderFixture()
    let folder = try fixture.open()
    for name in [
      "", "home", "con", "com1", "main", "temp", "folder", "B", "a.b", "../x", "é", "1",
      String(repeating: "a", count: 33),
    ] {
      let error = await #expect(throws: StoreError.self, "\(name)") { try await folder.add(name) }
      #expect(error?.code == .valueUnfit)
    }
    try await folder.add("select")
    try await folder.add("b-1")
    #expect(try await FolderFixture.titles(folder) == [])
  }

  @Test("a file of a newer schema is left out by name, the others go on, and it comes with its app (I12)")
  func newer() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    let tables = fixture.schema.tables.filter { !["members", "conflicts"].contains($0.name) }
    let more = TableSchema("more", zone: .user, columns: [ColumnSchema("text", .text)])
    let newer = try SyncSchema(name: "test", tables: tables + [more], version: 2)
    let app = try Store(path: fixture.file("b"), schema: newer)
    await app.close()
    #expect(try await FolderFixture.titles(folder) == ["Home"])
    func code(_ folder: StoreFolder) -> StoreError.Code? {
      if case .failed(let error)? = folder.databases.last?.state { error.code } else { nil }
    }
    #expect(code(folder) == .databaseIsNewer)
    await folder.close()
    let again = try fixture.open()
    #expect(code(again) == .databaseIsNewer)
    #expect(try await FolderFixture.titles(again) == ["Home"])
    await again.close()
    let update = try StoreFolder(path: fixture.path, schema: newer)
    #expect(try await FolderFixture.titles(update) == ["Home", "Work"])
  }

  @Test("a file that is no database is left out, and read again once it is seen to (I12)")
  func damaged() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    await folder.close()
    let moved = fixture.file("b") + "-kept"
    try FileManager.default.moveItem(atPath: fixture.file("b"), toPath: moved)
    try Data("This is not a database, and never was one.".utf8).write(
      to: URL(fileURLWithPath: fixture.file("b")))
    let again = try fixture.open()
    #expect(try await FolderFixture.titles(again) == ["Home"])
    #expect(again.store(of: "b") == nil)
    try FileManager.default.removeItem(atPath: fixture.file("b"))
    try FileManager.default.moveItem(atPath: moved, toPath: fixture.file("b"))
    try await again.reload()
    #expect(try await FolderFixture.titles(again) == ["Home", "Work"])
  }

  @Test("another file in the place of one is not written, and is read after a reload (I2)")
  func replaced() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    let older = fixture.file("b") + "-older"
    try SQLiteConnection(path: fixture.file("b")).execute("VACUUM INTO '\(older)'")
    #expect(rename(older, fixture.file("b")) == 0)
    #expect(try await FolderFixture.titles(folder) == ["Home"])
    try await folder.reload()
    #expect(try await FolderFixture.titles(folder) == ["Home", "Work"])
    try await folder.write(in: SeveralFiles.id(100)) { try $0.insert(List(id: $0.newID(), title: "More")) }
    #expect(try await FolderFixture.titles(folder) == ["Home", "More", "Work"])
  }

  @Test("without the list the databases are found by their files, and other files are left alone (I3)")
  func listLost() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    await folder.close()
    try FileManager.default.removeItem(atPath: "\(fixture.path)/folder.db")
    try SQLiteConnection(path: fixture.file("cache")).execute("CREATE TABLE mine (a)")
    let again = try fixture.open()
    #expect(again.databases.map(\.name) == ["home", "b"])
    #expect(try await FolderFixture.titles(again) == ["Home", "Work"])
  }

  @Test("a list that is something else, or newer, is refused")
  func listUnusable() async throws {
    let fixture = try FolderFixture()
    await (try fixture.open()).close()
    let list = "\(fixture.path)/folder.db"
    try SQLiteConnection(path: list).execute("PRAGMA user_version = 2")
    #expect(#expect(throws: StoreError.self) { try fixture.open() }?.code == .databaseIsNewer)
    try SQLiteConnection(path: list).execute("PRAGMA application_id = 7")
    #expect(#expect(throws: StoreError.self) { try fixture.open() }?.code == .notAHoldfastDatabase)
    try Data("This is not a database, and never was one.".utf8).write(to: URL(fileURLWithPath: list))
    #expect(#expect(throws: StoreError.self) { try fixture.open() }?.code == .databaseIsBroken)
  }

  @Test("what one folder adds and removes, another one on the same files follows (I7)")
  func twoFolders() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    let other = try fixture.open()
    var titles = other.live(String.self, "SELECT title FROM lists ORDER BY title").makeAsyncIterator()
    func next(_ wanted: [String]) async throws {
      while let now = try await titles.next() { if now == wanted { break } }
    }
    try await next(["Home", "Work"])
    try await folder.add("c")
    try await #require(folder.store(of: "c")).write { try $0.insert(List(id: $0.newID(), title: "Club")) }
    try await next(["Club", "Home", "Work"])
    try await other.write(in: SeveralFiles.id(100)) {
      try $0.update(List.self, id: SeveralFiles.id(100)) { $0.title = "Office" }
    }
    try await next(["Club", "Home", "Office"])
    let (lists, list) = AsyncStream.makeStream(of: Void.self)
    let listener = other.files.listing.listen(tables: nil) { _ in list.yield() }
    try await folder.leave(["b"], .discard)
    try await next(["Club", "Home"])
    // The readers may have noticed first that the file is gone.
    list.yield()
    for await _ in lists { if other.store(of: "b") == nil { break } }
    other.files.listing.stop(listener)
    #expect(!FileManager.default.fileExists(atPath: fixture.file("b")))
  }

  @Test("a copy of a file does not become a database of a list that is there (I1)")
  func copy() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    try SQLiteConnection(path: fixture.file("home")).execute("VACUUM INTO '\(fixture.file("backup"))'")
    try await folder.reload()
    #expect(try await FolderFixture.titles(folder) == ["Home", "Work"])
  }

  @Test("another program's file is not removed with the name that was tried, and the name is free again (I3)")
  func foreignFile() async throws {
    let fixture = try FolderFixture()
    let folder = try fixture.open()
    let cache = try SQLiteConnection(path: fixture.file("cache"))
    try cache.execute("CREATE TABLE mine (a)")
    cache.close()
    let error = await #expect(throws: StoreError.self) { try await folder.add("cache") }
    #expect(error?.code == .notAHoldfastDatabase)
    #expect(folder.databases.map(\.name) == ["home"])
    try await folder.leave(["cache"], .discard)
    #expect(FileManager.default.fileExists(atPath: fixture.file("cache")))
  }

  @Test("a file that failed is left out of all reads, whichever reader met it (I12)")
  func allReaders() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    await folder.close()
    try fixture.damage("b", "items")
    let again = try fixture.open()
    #expect(try await again.read { try $0.fetch(Item.all) }.count == 1)
    for _ in 0..<4 { #expect(try await FolderFixture.titles(again) == ["Home"]) }
  }

  @Test("what is watched is no database: a descriptor that is closed would end SQLite's locks on it")
  func watched() throws {
    let fixture = try FolderFixture()
    let folder = try fixture.open()
    let file = try #require(folder.foreignLists.file)
    #expect(!file.hasSuffix(".db"))
    #expect(FileManager.default.fileExists(atPath: file))
  }

  @Test("a live selection goes on when a second file comes and home is written before it reads (I7)")
  func secondFile() async throws {
    let fixture = try FolderFixture()
    let folder = try fixture.open()
    var lists = folder.live(List.order(by: \.title)).makeAsyncIterator()
    #expect(try await lists.next()?.count == 0)
    // As the folder does, up to where it announces that all may be otherwise.
    folder.foreignLists.stop()
    try await folder.files.run { [files = folder.files] in try files.add("b", server: nil) }
    for _ in 0..<2 { try await folder.liveSupport.reader.reopen() }
    try await folder.write { try $0.insert(List(id: $0.newID(), title: "New")) }
    #expect(try await lists.next()?.count == 1)
  }
}
