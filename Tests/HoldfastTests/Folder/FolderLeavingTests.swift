import Foundation
import HoldfastSQLite
import HoldfastSystem
import Testing

@testable import Holdfast

@Suite("Databases that leave a folder")
struct FolderLeavingTests {
  @Test("nobody can write into a file between the removal of its data and its own (I2, I3)")
  func writtenWhileItLeaves() async throws {
    let fixture = try FolderFixture()
    let file = fixture.file("b")
    let errors = Locked<[any Error]>([])
    let others = Locked<[SQLiteConnection]>([])
    let widget = Locked<Store?>(nil)
    let folder = try fixture.open(onStep: { step in
      guard step == .emptied else { return }
      // One that opens it now, one that has it open, and a store of another process.
      let late = try? SQLiteConnection(path: file, access: .readWrite)
      for connection in others.withLock({ $0 }) + [late].compactMap({ $0 }) {
        do { try connection.run("INSERT INTO lists (title) VALUES ('typed')") } catch {
          errors.withLock { $0.append(error) }
        }
      }
      late?.close()
      do {
        try widget.withLock { $0 }?.writer.performNow {
          try AppTransaction(database: $0).write(.system) {
            try $0.insert(List(id: IDs.list, title: "typed"))
          }
        }
      } catch { errors.withLock { $0.append(error) } }
    })
    try await folder.add("b")
    let early = try SQLiteConnection(path: file, access: .readWrite)
    #expect(try early.value("SELECT count(*) FROM lists") == .integer(0))
    others.withLock { $0.append(early) }
    let store = try Store(path: file, schema: fixture.schema)
    widget.withLock { $0 = store }
    try await folder.leave(["b"], .remove)
    #expect(errors.withLock { $0.count } == 3)
    #expect(errors.withLock { $0.last as? StoreError }?.code == .closed)
    #expect(!FileManager.default.fileExists(atPath: file))
    await store.close()
    early.close()
  }

  @Test("a database that leaves while another folder is suspended does not come back with it (I10)")
  func leftWhileSuspended() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    let other = try fixture.open()
    let store = try #require(other.store(of: "b"))
    await other.suspend()
    try await folder.leave(["b"], .discard)
    // As a sync in the background does.
    await #expect(throws: StoreError.self) { try await store.resume() }
    #expect(!FileManager.default.fileExists(atPath: fixture.file("b")))
    try await other.resume()
    #expect(other.databases.map(\.name) == ["home"])
    #expect(!FileManager.default.fileExists(atPath: fixture.file("b")))
    try await other.add("b")
    #expect(try await FolderFixture.titles(folder) == ["Home"])
  }

  @Test("a discard that failed does not take what is written after it (I3)")
  func failedDiscard() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    await folder.home.suspend()
    #expect(try await folder.leave(["home"], .discard)["home"]?.code == .suspended)
    try await folder.home.resume()
    try await folder.write { try $0.insert(List(id: $0.newID(), title: "typed since")) }
    await folder.close()
    #expect(try await FolderFixture.titles(try fixture.open()).contains("typed since"))
  }

  @Test("a mark that could not be taken back discards nothing that was written after it (I3)")
  func staleMark() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    let moments = try Self.moments(folder)
    try folder.files.list.write { try $0.mark(["home", "b"], .discard, at: moments) }
    await folder.close()
    let widget = try SQLiteConnection(path: fixture.file("b"), access: .readWrite)
    try widget.run("INSERT INTO lists (title) VALUES ('typed since')")
    widget.close()
    let again = try fixture.open()
    #expect(again.databases.map(\.state) == [.open, .open])
    // Home has nothing new.
    #expect(try await FolderFixture.titles(again) == ["Work", "typed since"])
  }

  private static func moments(_ folder: StoreFolder) throws -> TextMap<SignOut.Moment> {
    TextMap(
      try folder.files.stores.map { name, store in
        (name, try store.writer.performNow { try SignOut(database: $0).moment() })
      })
  }

  @Test(
    "a mark of a process that was killed ends no session that began after it (I3)",
    arguments: [FolderList.Leaving.signOut, .discard])
  func laterSession(_ leaving: FolderList.Leaving) async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    func signIn(_ store: Store, session: Int) async throws {
      let body =
        #"{"user":{"id":"0193aaaa-0000-7000-8000-0000000000a1","name":"ann"},"device":{"id":"\#(IDs.other)","name":"phone","session":\#(session)},"token":"t\#(session)"}"#
      let session = try #require(Session(body: Array(body.utf8)))
      try await store.writer.perform { try SessionStart(database: $0).adopt(session) }
    }
    let store = try #require(folder.store(of: "b"))
    for store in [folder.home, store] { try await signIn(store, session: 1) }
    let moments = try Self.moments(folder)
    // This folder would close what is marked.
    folder.foreignLists.stop()
    try folder.files.list.write { try $0.mark(["home", "b"], leaving, at: moments) }
    try await signIn(store, session: 2)
    await folder.close()
    let again = try fixture.open()
    #expect(again.databases.map(\.state) == [.open, .open])
    #expect(try await again.store(of: "b")?.account()?.isSignedIn == true)
    #expect(try await again.home.account()?.isSignedIn != true)
    #expect(try await FolderFixture.titles(again) == (leaving == .discard ? ["Work"] : ["Home", "Work"]))
  }

  @Test("a database that is marked to leave is not used, and no look at the list opens it (I3)")
  func marked() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    // Between the closing of a file and its mark.
    try folder.files.prepare(["b"], .discard)
    try await folder.files.run { [files = folder.files] in
      #expect(try !files.isOutdated())
      try files.load()
    }
    #expect(folder.store(of: "b") == nil)
    try await folder.reload()
    #expect(folder.store(of: "b") != nil)
    // Another process has marked it, and was killed.
    folder.foreignLists.stop()
    try folder.files.list.write { try $0.mark(["b"], .remove) }
    try await folder.files.run { [files = folder.files] in
      #expect(try files.isOutdated())
      try files.load()
    }
    #expect(folder.store(of: "b") == nil)
    let error = await #expect(throws: StoreError.self) {
      try await folder.write(in: SeveralFiles.id(100)) { try $0.insert(List(id: $0.newID(), title: "New")) }
    }
    #expect(error?.code == .cannotOpen)
    // It has unsent edits, and stays.
    try await folder.reload()
    #expect(try await FolderFixture.titles(folder) == ["Home", "Work"])
    try folder.files.list.write { try $0.mark(["b"], .discard) }
    try await folder.reload()
    #expect(try await FolderFixture.titles(folder) == ["Home", "Work"])
  }

  @Test("a damaged file that is to leave after a kill is named, and the others open (I12)")
  func damaged() async throws {
    let fixture = try FolderFixture()
    let folder = try fixture.open()
    try await folder.add("b")
    let moments = try Self.moments(folder)
    await folder.close()
    try fixture.damage("b", "words")
    try folder.files.list.write { try $0.mark(["b"], .remove, at: moments) }
    let again = try fixture.open()
    #expect(try await FolderFixture.titles(again) == [])
    let state = try #require(again.databases.last?.state)
    guard case .failed(let error) = state else {
      Issue.record("\(state)")
      return
    }
    #expect(error.code == .databaseIsBroken)
    let refused = await #expect(throws: StoreError.self) { try await again.leave(["home", "b"], .remove) }
    #expect(refused?.code == .databaseIsBroken)
    // What nobody wants goes without being looked at.
    #expect(try await again.leave(["b"], .discard).isEmpty)
    #expect(!FileManager.default.fileExists(atPath: fixture.file("b")))
  }

  @Test("a file that only a newer app can look at does not leave with what it has (I3)")
  func newer() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    await folder.close()
    try SQLiteConnection(path: fixture.file("b")).execute("PRAGMA user_version = 1000")
    let older = try fixture.open()
    #expect(try await older.leave(["b"], .discard)["b"]?.code == .databaseIsNewer)
    #expect(FileManager.default.fileExists(atPath: fixture.file("b")))
    // Nor does a damaged one by a mark of earlier, which could not say what was unsent then.
    try SQLiteConnection(path: fixture.file("b")).execute(
      "PRAGMA user_version = \(DeviceTables.formatVersion)")
    try fixture.damage("b", "lists")
    try older.files.list.write { try $0.mark(["b"], .discard) }
    try await older.reload()
    #expect(FileManager.default.fileExists(atPath: fixture.file("b")))
  }

  @Test("tables of the app's own that refer to records do not keep a database (I12)")
  func ownTables() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    try await #require(folder.store(of: "b")).write { db in
      try db.execute("CREATE TABLE found (list TEXT NOT NULL REFERENCES lists (id))")
      try db.execute("INSERT INTO found SELECT id FROM lists")
      try db.execute("CREATE VIEW titles AS SELECT title FROM lists")
    }
    #expect(try await folder.leave(["b"], .discard).isEmpty)
    #expect(!FileManager.default.fileExists(atPath: fixture.file("b")))
  }

  @Test("while a database leaves, another process waits for the list, and finds it gone")
  func otherProcess() async throws {
    let fixture = try FolderFixture()
    let isRefused = Locked(false)
    let list = FolderList(path: FolderPath(folder: fixture.path))
    let folder = try fixture.open(onStep: { step in
      guard step == .marked, let other = try? SQLiteConnection(path: list.path.list, busyTimeout: .zero)
      else {
        return
      }
      do { _ = try other.value("SELECT count(*) FROM databases") } catch { isRefused.withLock { $0 = true } }
      other.close()
    })
    try await folder.add("b")
    try await folder.leave(["b"], .remove)
    #expect(isRefused.withLock { $0 })
    #expect(try list.read().rows.map(\.name) == ["home"])
  }
}
