import Foundation
import HoldfastSQLite
import HoldfastSystem
import Testing

@testable import Holdfast

@Suite("A folder of stores")
struct StoreFolderTests {
  @Test("is read as one, and written in the file that has the zone, else at home")
  func writing() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    #expect(folder.databases.map(\.name) == ["home", "b"])
    #expect(folder.databases.map(\.state) == [.open, .open])
    #expect(try await FolderFixture.titles(folder) == ["Home", "Work"])
    #expect(try folder.readNow { try $0.count(Item.all) } == 2)
    let work = SeveralFiles.id(100)
    #expect(try await folder.databases(with: work) == ["b"])
    try await folder.write(in: work) { try $0.insert(Item(id: IDs.item, list_id: work, title: "new")) }
    #expect(try await folder.store(of: "b")?.read { try $0.count(Item.all) } == 2)
    try await folder.write { try $0.insert(List(id: IDs.other, title: "Garden")) }
    try await folder.write(in: IDs.list) { try $0.insert(List(id: IDs.list, title: "Attic")) }
    #expect(try await folder.home.read { try $0.count(List.all) } == 3)
    #expect(try await FolderFixture.titles(folder) == ["Attic", "Garden", "Home", "Work"])
    await folder.close()
    let again = try fixture.open()
    #expect(try await FolderFixture.titles(again) == ["Attic", "Garden", "Home", "Work"])
  }

  @Test("finds the zones of a user, and public ones, by their files")
  func otherZones() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    let store = try #require(folder.store(of: "b"))
    let body =
      #"{"user":{"id":"0193aaaa-0000-7000-8000-00000000000a","name":"ann"},"device":{"id":"\#(IDs.other)","name":"phone"},"token":"t"}"#
    let session = try #require(Session(body: Array(body.utf8)))
    try await store.writer.perform { try SessionStart(database: $0).adopt(session) }
    #expect(try await folder.databases(with: "0193aaaa-0000-7000-8000-00000000000a") == ["b"])
    #expect(try await folder.databases(with: "dictionary") == [])
    try await store.follow("dictionary")
    #expect(try await folder.databases(with: "dictionary") == ["b"])
    try await store.follow("dictionary", false)
    #expect(try await folder.databases(with: "dictionary") == [])
  }

  @Test(
    "a reference to a record of another file is refused, and nothing of the transaction is written (I6, I9)")
  func across() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    let error = await #expect(throws: SQLiteError.self) {
      try await folder.write { db in
        try db.insert(List(id: IDs.other, title: "Garden"))
        try db.insert(Item(id: IDs.item, list_id: SeveralFiles.id(100), title: "new"))
      }
    }
    #expect(error?.code.primary == .constraint)
    #expect(try await FolderFixture.titles(folder) == ["Home", "Work"])
  }

  @Test("the same id in two files is two records; a write touches its file alone, and none is guessed (I10)")
  func sameID() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    let (home, work) = (SeveralFiles.id(0), try #require(folder.store(of: "b")))
    // As somebody makes a zone of this id in the other database.
    try await work.write { db in
      try db.insert(List(id: home, title: "Theirs"))
      try db.insert(Item(id: SeveralFiles.id(1), list_id: home, title: "theirs"))
    }
    #expect(try await FolderFixture.titles(folder) == ["Home", "Theirs", "Work"])
    #expect(try await folder.databases(with: home) == ["home", "b"])
    let error = await #expect(throws: StoreError.self) {
      try await folder.write(in: home) { try $0.delete(List.self, id: home) }
    }
    #expect(error?.code == .zoneAmbiguous)
    try await folder.home.write { try $0.update(List.self, id: home) { $0.title = "Mine" } }
    try await work.write { try $0.delete(Item.self, id: SeveralFiles.id(1)) }
    #expect(try await FolderFixture.titles(folder) == ["Mine", "Theirs", "Work"])
    #expect(try await folder.read { try $0.fetch(Item.order(by: \.title)).map(\.title) } == ["t0", "t1"])
    #expect(try await folder.home.waitingOperations() == 3)
  }

  @Test(
    "live queries, selections too, hear of changes in any file, of this folder and of other processes (I7)")
  func live() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    var lists = folder.live(List.where(\.title != "x").order(by: \.title)).makeAsyncIterator()
    func expect(_ titles: [String]) async throws {
      while let now = try await lists.next() { if now.map(\.title) == titles { break } }
    }
    try await expect(["Home", "Work"])
    try await folder.write(in: SeveralFiles.id(100)) {
      try $0.update(List.self, id: SeveralFiles.id(100)) { $0.title = "Office" }
    }
    try await expect(["Home", "Office"])
    // The rows of the two files have the same numbers.
    try await folder.write { try $0.update(List.self, id: SeveralFiles.id(0)) { $0.title = "Zoo" } }
    try await expect(["Office", "Zoo"])
    let other = try SQLiteConnection(path: fixture.file("b"), access: .readWrite)
    try other.run("INSERT INTO lists (title) VALUES ('Theirs')")
    other.close()
    try await expect(["Office", "Theirs", "Zoo"])
    try await folder.add("c")
    try await #require(folder.store(of: "c")).write { try $0.insert(List(id: $0.newID(), title: "Club")) }
    try await expect(["Club", "Office", "Theirs", "Zoo"])
  }

  @MainActor
  @Test("a view has the first result at once, over all files")
  func view() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    let lists = folder.liveQuery(List.order(by: \.title))
    #expect(lists.value.map(\.title) == ["Home", "Work"])
    let source: any ReadableStore = folder
    #expect(source.liveQuery(0) { try $0.count(Item.all) }.value == 2)
  }

  @Test("undo takes the last transaction back, in whichever file it is")
  func undo() async throws {
    let time = Locked<Int64>(1_800_000_000_000)
    let environment = StoreEnvironment(
      now: { time.withLock { $0 } }, random: StoreEnvironment.system.random,
      sleep: StoreEnvironment.system.sleep)
    let fixture = try FolderFixture()
    let folder = try fixture.open(environment: environment)
    try await folder.add("b")
    let work = try #require(folder.store(of: "b"))
    for (store, title) in [(folder.home, "1"), (work, "2"), (work, "3"), (folder.home, "4")] {
      time.withLock { $0 += 1000 }
      try await store.write { try $0.insert(List(id: $0.newID(), title: title)) }
    }
    for left in [["1", "2", "3"], ["1", "2"], ["1"], []] {
      time.withLock { $0 += 1000 }
      try await folder.undo()
      #expect(try await FolderFixture.titles(folder) == left)
    }
    let error = await #expect(throws: StoreError.self) { try await folder.undo() }
    #expect(error?.code == .nothingToUndo)
  }

  @Test("refused change sets of all files are listed, resent and discarded in their own (I3)")
  func quarantine() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    for (_, store) in folder.files.stores {
      try await store.writer.perform { local in
        try local.transaction(.immediate) {
          _ = try Quarantine(database: local).add(rescued: [
            Array(
              #"[{"op":"create","table":"lists","id":"\#(IDs.other)","columns":{"title":"Back"},"stamp":"0193aaaa00000000"}]"#
                .utf8)
          ])
        }
      }
    }
    let sets = try await folder.quarantined()
    #expect(sets.map(\.number) == [1, 1])
    let work = try #require(sets.first { $0.database == "b" })
    try await folder.resend(work) { operations in operations[0]["title"] = "Here" }
    #expect(try await folder.quarantined().map(\.database) == ["home"])
    #expect(try await folder.store(of: "b")?.read { try $0.find(List.self, id: IDs.other)?.title } == "Here")
    try await folder.discard(try #require(sets.first { $0.database == "home" }))
    #expect(try await folder.quarantined().isEmpty)
  }

  @Test("a conflict is closed in the file that has it, with its record (I3)")
  func conflicts() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    let work = try #require(folder.store(of: "b"))
    try await work.writer.perform { local in
      try local.transaction(.immediate) {
        try local.whileApplying {
          try local.connection.run(
            """
            INSERT INTO conflicts (id, zone, record_table, record_id, column_name, policy, winner_value, loser_value)
            VALUES (?1, ?2, 'lists', ?2, 'title', 'ask', '"Work"', '"Job"')
            """, [.text(IDs.item), .text(SeveralFiles.id(100))])
        }
      }
    }
    let question = try #require(try await folder.read { try $0.conflicts(onlyOpen: true) }.first)
    try await folder.resolve(question, taking: .loser)
    #expect(try await FolderFixture.titles(folder) == ["Home", "Job"])
    #expect(try await work.waitingOperations() == 4)
    let error = await #expect(throws: StoreError.self) { try await folder.resolve(question, taking: .winner) }
    #expect(error?.code == .conflictResolved)
  }

  @Test("suspended, it throws and lets go of all files; resumed, it goes on, live queries too")
  func suspension() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    var lists = folder.live(List.order(by: \.title)).makeAsyncIterator()
    #expect(try await lists.next()?.count == 2)
    await folder.suspend()
    for attempt: @Sendable () async throws -> Void in [
      { _ = try await folder.read { try $0.count(List.all) } },
      { try await folder.write { _ in } },
      { try await folder.write(in: SeveralFiles.id(100)) { _ in } },
    ] {
      let error = await #expect(throws: StoreError.self) { try await attempt() }
      #expect(error?.code == .suspended)
    }
    let other = try fixture.open()
    try await other.add("c")
    try await #require(other.store(of: "c")).write { try $0.insert(List(id: $0.newID(), title: "Club")) }
    await other.close()
    try await folder.resume()
    while let now = try await lists.next() { if now.count == 3 { break } }
    #expect(folder.databases.map(\.name) == ["home", "b", "c"])
    await folder.close()
    let error = await #expect(throws: StoreError.self) { try await folder.read { _ in } }
    #expect(error?.code == .closed)
  }

  @Test(
    "while a file can't be read, an edit of a zone is refused: neither home nor a stranger gets it (I3, I10)")
  func zoneOfAFailedFile() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    let older = fixture.file("b") + "-older"
    try SQLiteConnection(path: fixture.file("b")).execute("VACUUM INTO '\(older)'")
    #expect(rename(older, fixture.file("b")) == 0)
    let refused: @Sendable () async throws -> Void = {
      let error = await #expect(throws: StoreError.self) {
        try await folder.write(in: SeveralFiles.id(100)) {
          try $0.insert(List(id: $0.newID(), title: "School's"))
        }
      }
      #expect(error?.code == .cannotOpen)
      #expect(
        await #expect(throws: StoreError.self) { try await folder.database(with: SeveralFiles.id(100)) }
          != nil)
    }
    try await refused()
    #expect(try await folder.home.read { try $0.count(List.all) } == 1)
    // The only zone of this id that can be read is another group's.
    try await folder.add("c")
    let other = try #require(folder.store(of: "c"))
    try await other.write { try $0.insert(List(id: SeveralFiles.id(100), title: "Theirs")) }
    try await refused()
    #expect(try await other.read { try $0.count(List.all) } == 1)
    try await folder.write { try $0.insert(List(id: $0.newID(), title: "Mine")) }
    try await folder.reload()
    #expect(try await folder.databases(with: SeveralFiles.id(100)) == ["b", "c"])
  }

  @Test("an edit of a zone whose file no reader has yet is written in it, not at home (I3, I10)")
  func zoneOfAFileThatOpens() async throws {
    let fixture = try FolderFixture()
    let folder = try fixture.open()
    folder.foreignLists.stop()
    // As the folder does, up to where its readers get the file.
    try await folder.files.run { [files = folder.files] in try files.add("b", server: nil) }
    try await #require(folder.store(of: "b")).write { try $0.insert(List(id: IDs.list, title: "Work")) }
    try await folder.write(in: IDs.list) {
      try $0.insert(Item(id: $0.newID(), list_id: IDs.list, title: "new"))
    }
    #expect(try await folder.store(of: "b")?.read { try $0.count(Item.all) } == 1)
  }

  @Test("a change set that a store lists is not taken for that of another file (I3)")
  func setOfAStore() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    for (name, store) in folder.files.stores {
      try await store.writer.perform { local in
        try local.transaction(.immediate) {
          _ = try Quarantine(database: local).add(rescued: [
            Array(
              #"[{"op":"create","table":"lists","id":"\#(IDs.other)","columns":{"title":"\#(name)"},"stamp":"0193aaaa00000000"}]"#
                .utf8)
          ])
        }
      }
    }
    let work = try #require(folder.store(of: "b"))
    let set = try #require(try await work.quarantined().first)
    #expect(set.database == "b")
    #expect(try await folder.home.quarantined().map(\.database) == ["home"])
    try await folder.discard(set)
    #expect(try await folder.quarantined().map(\.database) == ["home"])
    let error = await #expect(throws: StoreError.self) { try await folder.discard(set) }
    #expect(error?.code == .recordMissing)
  }

  @Test("two undos at once take two transactions back (I1)")
  func undoTwice() async throws {
    let fixture = try FolderFixture()
    let folder = try fixture.open()
    for title in ["1", "2"] { try await folder.write { try $0.insert(List(id: $0.newID(), title: title)) } }
    let undos = (0..<2).map { _ in Task { try await folder.undo() } }
    for undo in undos { _ = try await undo.value }
    #expect(try await FolderFixture.titles(folder) == [])
    // Which was the last when it was looked for may not be any more.
    try await folder.write { try $0.insert(List(id: $0.newID(), title: "3")) }
    let last = try await folder.home.undoable(limit: 1)[0].number
    try await folder.undo()
    #expect(try await folder.home.undo(ifLast: last) == nil)
  }

  @Test("suspended, undo says so, and takes nothing older back (I1)")
  func undoSuspended() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    await folder.home.suspend()
    let error = await #expect(throws: StoreError.self) { try await folder.undo() }
    #expect(error?.code == .suspended)
    #expect(try await folder.store(of: "b")?.read { try $0.count(List.all) } == 1)
  }

  @Test("a file that is being added when the folder is suspended is let go of, too")
  func suspendedWhileAdding() async throws {
    let fixture = try FolderFixture()
    let (made, goOn) = (AsyncStream.makeStream(of: Void.self), DispatchSemaphore(value: 0))
    let folder = try fixture.open(onStep: { step in
      if step == .made {
        made.continuation.yield()
        goOn.wait()
      }
    })
    let adding = Task { _ = try? await folder.add("b") }
    for await _ in made.stream { break }
    let suspending = Task { await folder.suspend() }
    // Also for what must not be made.
    for _ in 0..<3 { goOn.signal() }
    await adding.value
    await suspending.value
    let store = try #require(folder.store(of: "b"))
    let error = await #expect(throws: StoreError.self) { try await store.write { _ in } }
    #expect(error?.code == .suspended)
    #expect(await #expect(throws: StoreError.self) { try await folder.add("c") }?.code == .suspended)
    try await folder.resume()
    #expect(folder.databases.map(\.name) == ["home", "b"])
    try await store.write { try $0.insert(List(id: $0.newID(), title: "Work")) }
  }

  @Test("the last word counts: resumed while it is still being suspended, a folder can be written")
  func resumedMeanwhile() async throws {
    let fixture = try FolderFixture()
    await (try await fixture.filled()).close()
    let folder = try StoreFolder(
      path: fixture.path, schema: fixture.schema, options: StoreOptions(readers: 1))
    let (begun, goOn) = (AsyncStream.makeStream(of: Void.self), DispatchSemaphore(value: 0))
    let reading = Task {
      try? await folder.read { _ in
        begun.continuation.yield()
        goOn.wait()
      }
    }
    for await _ in begun.stream { break }
    let suspending = Task { await folder.suspend(within: .seconds(60)) }
    let resuming = Task { try await folder.resume() }
    goOn.signal()
    _ = await reading.value
    await suspending.value
    try await resuming.value
    try await folder.resume()
    try await folder.write { try $0.insert(List(id: $0.newID(), title: "New")) }
  }
}
