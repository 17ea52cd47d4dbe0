import Foundation
import HoldfastSystem
import Testing

@testable import Holdfast

@Suite("The engine of a folder")
struct FolderEngineTests {
  /// A server that answers each request in one way.
  private struct Answering: Transport {
    let answer: @Sendable (TransportRequest) async throws -> TransportAnswer

    func send(_ request: TransportRequest) async throws -> TransportAnswer { try await answer(request) }
  }

  /// One that never answers.
  private static let silent = Answering { _ in
    try await Task.sleep(for: .seconds(1_000_000))
    throw CancellationError()
  }

  /// One that has nothing to say, and confirms nothing.
  private static let quiet = Answering { request in
    if request.method == "DELETE" { return TransportAnswer(status: 204, body: []) }
    let body = #"{"clock":"0193aaaa00000000","confirmed":0,"chain":"0000000000000000"}"#
    return TransportAnswer(status: 200, body: Fixture.whole(body))
  }

  private static func session(_ number: Int) -> String {
    #"{"user":{"id":"0193aaaa-0000-7000-8000-0000000000a\#(number)","name":"ann"},"device":{"id":"0193aaaa-0000-7000-8000-0000000000d\#(number)","name":"phone"},"token":"t\#(number)"}"#
  }

  private static func signIn(_ store: Store, _ number: Int) async throws {
    let session = try #require(Session(body: Array(Self.session(number).utf8)))
    try await store.writer.perform { try SessionStart(database: $0).adopt(session) }
  }

  /// A folder with the databases home and `b`, signed in to both and without edits.
  private static func signedIn(_ fixture: FolderFixture) async throws -> StoreFolder {
    let folder = try fixture.open()
    try await folder.add("b")
    for (number, (_, store)) in folder.files.stores.enumerated() { try await signIn(store, number) }
    return folder
  }

  /// An engine whose servers note the tokens of sessions that are ended.
  private static func engine(of folder: StoreFolder, noting ended: Locked<[String]>) -> FolderEngine {
    FolderEngine(folder: folder) { _ in
      Answering { request in
        if request.method == "DELETE", let token = request.token { ended.withLock { $0.append(token) } }
        return TransportAnswer(status: 204, body: [])
      }
    }
  }

  private static func next(
    _ statuses: inout AsyncStream<FolderStatus>.Iterator, where isWanted: (FolderStatus) -> Bool
  ) async -> FolderStatus? {
    while let status = await statuses.next() { if isWanted(status) { return status } }
    return nil
  }

  @Test("syncs one database though the other's server is silent, and one status names who waits (I12)")
  func silent() async throws {
    let fixture = try FolderFixture()
    let folder = try await Self.signedIn(fixture)
    let engine = FolderEngine(folder: folder) { $0.name == "b" ? Self.silent : Self.quiet }
    var statuses = engine.statuses.makeAsyncIterator()
    let running = Task { await engine.run() }
    let status = await Self.next(&statuses) {
      $0.databases.first?.sync?.text == "Synced" && $0.databases.last?.sync != nil
    }
    #expect(status?.databases.map(\.database) == ["home", "b"])
    #expect(status?.text == "Not synced yet (b)")
    try await folder.add("c")
    let more = await Self.next(&statuses) { $0.databases.count == 3 && $0.databases[2].sync != nil }
    #expect(more?.needsSignIn == ["c"])
    #expect(more?.text.contains("Sign in (c)") == true)
    running.cancel()
    await running.value
    await folder.close()
  }

  @Test("a sync gives what each database did, and why one did not")
  func sync() async throws {
    let fixture = try FolderFixture()
    let folder = try await Self.signedIn(fixture)
    try await folder.add("c")
    struct Cut: Error {}
    let engine = FolderEngine(folder: folder) { database in
      database.name == "c" ? nil : database.name == "b" ? Answering { _ in throw Cut() } : Self.quiet
    }
    #expect(engine.engine(of: "c") == nil)
    let summary = try await engine.sync()
    #expect(summary.failures.map(\.database) == ["b"])
    #expect((summary.failures.first?.error as? StoreError)?.code == .offline)
    var statuses = engine.statuses.makeAsyncIterator()
    let status = await Self.next(&statuses) { $0.offline == ["b"] }
    #expect(status?.text == "Offline (b), No address (c)")
    #expect(
      try await engine.engine(withZone: "0193aaaa-0000-7000-8000-0000000000a1") === engine.engine(of: "b"))
    await engine.suspend()
    let background = try await engine.syncInBackground()
    #expect(background.failures.map(\.database) == ["b"])
    await #expect(throws: StoreError.self) { try await folder.read { _ in } }
    try await engine.resume()
    #expect(try await FolderFixture.titles(folder) == [])
  }

  @Test(
    "a sync that is cancelled does not wait until home says in which databases the user is a guest",
    .timeLimit(.minutes(1)))
  func cancelled() async throws {
    let folder = try await Self.signedIn(FolderFixture())
    let (asked, ask) = AsyncStream.makeStream(of: Void.self)
    let engine = FolderEngine(folder: folder) { _ in
      Answering { request in
        guard request.path == "v1/databases" else { return try await Self.quiet.send(request) }
        ask.yield()
        return try await Self.silent.send(request)
      }
    }
    let syncing = Task { try await engine.sync() }
    for await _ in asked { break }
    syncing.cancel()
    await #expect(throws: CancellationError.self) { try await syncing.value }
    await folder.close()
  }

  @Test(
    "what another process has changed meanwhile is not synced in the background: a file may be of another server (I10)"
  )
  func changedElsewhere() async throws {
    let fixture = try FolderFixture()
    let folder = try await Self.signedIn(fixture)
    let engine = FolderEngine(folder: folder) { _ in Self.quiet }
    await folder.suspend()
    let other = try fixture.open()
    try await other.add("c")
    await other.close()
    await #expect(throws: StoreError.self) { _ = try await engine.syncInBackground() }
    try await folder.resume()
    #expect(try await engine.syncInBackground().failures.map(\.database) == ["c"])
    await folder.close()
  }

  /// A home that is in a directory with `b`.
  private static func inDirectory(_ request: TransportRequest) -> TransportAnswer {
    let body =
      switch request.path {
      case "v1/databases": #"{"databases":[{"name":"b","url":"http://b","is_home":false,"is_member":true}]}"#
      case "v1/passes": #"{"pass":"p","url":"http://b","expires_in":300}"#
      default: #"{"devices":[]}"#
      }
    return TransportAnswer(status: 200, body: Array(body.utf8))
  }

  @Test("a session of a guest who is not at home any more is ended (I10)")
  func otherAtHome() async throws {
    let fixture = try FolderFixture()
    let folder = try fixture.open()
    try await Self.signIn(folder.home, 0)
    let ended = Locked<[String?]>([])
    let engine = FolderEngine(folder: folder) { database in
      Answering { request in
        if database.name == "home" { return Self.inDirectory(request) }
        if request.method == "DELETE" {
          ended.withLock { $0.append(request.token) }
          return TransportAnswer(status: 204, body: [])
        }
        // Meanwhile somebody else signs in at home.
        try await folder.home.writer.perform {
          try SignOut(database: $0).run(removingData: true, discardingUnsent: true)
        }
        try await Self.signIn(folder.home, 5)
        return TransportAnswer(status: 200, body: Array(Self.session(0).utf8))
      }
    }
    let error = await #expect(throws: StoreError.self) { try await engine.join("b") }
    #expect(error?.code == .signedOut)
    #expect(try await folder.store(of: "b")?.account()?.isSignedIn == false)
    #expect(ended.withLock { $0 } == ["t0"])
    await folder.close()
  }

  @Test("a database that is joined while it is found takes one pass", .timeLimit(.minutes(1)))
  func joinedWhileFound() async throws {
    let fixture = try FolderFixture()
    let folder = try fixture.open()
    try await Self.signIn(folder.home, 0)
    let passes = Locked(0)
    let (asked, ask) = AsyncStream.makeStream(of: Void.self)
    let isReleased = Locked(false)
    let engine = FolderEngine(folder: folder) { database in
      Answering { request in
        if request.path == "v1/databases" { ask.yield() }
        if request.path == "v1/passes" {
          passes.withLock { $0 += 1 }
          ask.yield()
          while !isReleased.withLock({ $0 }) { await Task.yield() }
        }
        if database.name == "home" { return Self.inDirectory(request) }
        return TransportAnswer(status: 200, body: Array(Self.session(0).utf8))
      }
    }
    var moments = asked.makeAsyncIterator()
    let finding = Task { try await engine.findDatabases() }
    for _ in 0..<2 { _ = await moments.next() }
    let joining = Task { try await engine.join("b") }
    _ = await moments.next()
    isReleased.withLock { $0 = true }
    try await finding.value
    _ = try await joining.value
    #expect(passes.withLock { $0 } == 1)
    #expect(try await folder.store(of: "b")?.account()?.isSignedIn == true)
    await folder.close()
  }

  @Test("a sign-out ends all sessions, and leaves the data")
  func signOut() async throws {
    let fixture = try FolderFixture()
    let folder = try await Self.signedIn(fixture)
    let ended = Locked<[String]>([])
    let engine = Self.engine(of: folder, noting: ended)
    try await folder.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    try await engine.signOut()
    for (_, store) in folder.files.stores { #expect(try await store.account()?.isSignedIn == false) }
    #expect(ended.withLock { $0.sorted() } == ["t0", "t1"])
    #expect(try await FolderFixture.titles(folder) == ["Home"])
    #expect(folder.databases.count == 2)
  }

  @Test("a sign-out with removal is refused while any file has unsent edits, and changes nothing (I3)")
  func unsent() async throws {
    let fixture = try FolderFixture()
    let folder = try await Self.signedIn(fixture)
    let engine = FolderEngine(folder: folder) { _ in Self.quiet }
    try await #require(folder.store(of: "b")).write { try $0.insert(List(id: IDs.list, title: "Work")) }
    let error = await #expect(throws: StoreError.self) { try await engine.signOut(removingData: true) }
    #expect(error?.code == .unsentEdits)
    for (_, store) in folder.files.stores { #expect(try await store.account()?.isSignedIn == true) }
    #expect(try await FolderFixture.titles(folder) == ["Work"])
    // A process that was killed with the mark, before another one wrote: the launch finds the edit, and keeps it.
    await folder.close()
    try folder.files.list.write { try $0.mark(["b"], .remove) }
    let again = try fixture.open()
    #expect(again.databases.map(\.state) == [.open, .open])
    #expect(try await FolderFixture.titles(again) == ["Work"])
    #expect(try await again.store(of: "b")?.account()?.isSignedIn == true)
  }

  @Test(
    "a sign-out that discards leaves home alone, empty; a database that is removed leaves the others (I10)")
  func discarding() async throws {
    let fixture = try FolderFixture()
    let folder = try await Self.signedIn(fixture)
    let engine = FolderEngine(folder: folder) { _ in Self.quiet }
    for (name, store) in folder.files.stores {
      try await store.write { try $0.insert(List(id: $0.newID(), title: name)) }
    }
    try await folder.add("c")
    await #expect(throws: StoreError.self) { try await engine.remove("home") }
    try await engine.remove("c")
    #expect(try await FolderFixture.titles(folder) == ["b", "home"])
    #expect(!FileManager.default.fileExists(atPath: fixture.file("c")))
    try await engine.signOut(removingData: true, discardingUnsent: true)
    #expect(folder.databases.map(\.name) == ["home"])
    #expect(try await FolderFixture.titles(folder) == [])
    #expect(try await folder.home.account() == nil)
    #expect(engine.engine(of: "b") == nil)
    let files = try FileManager.default.contentsOfDirectory(atPath: fixture.path)
    #expect(!files.contains { $0.hasPrefix("b.") || $0.hasPrefix("c.") })
    try await folder.add("b")
    #expect(try await FolderFixture.titles(folder) == [])
  }

  @Test("a sign-out that fails for one database ends the others, on their servers too (I10)")
  func signOutByHalf() async throws {
    let fixture = try FolderFixture()
    let folder = try await Self.signedIn(fixture)
    let ended = Locked<[String]>([])
    let engine = Self.engine(of: folder, noting: ended)
    await folder.home.suspend()
    let error = await #expect(throws: StoreError.self) {
      try await engine.signOut(removingData: true, discardingUnsent: true)
    }
    #expect(error?.code == .suspended)
    #expect(folder.databases.map(\.name) == ["home"])
    #expect(ended.withLock { $0 } == ["t1"])
    try await folder.home.resume()
    #expect(try await folder.home.account()?.isSignedIn == true)
  }

  @Test(
    "a file that can't be read does not hold back the status of the others (I12)", .timeLimit(.minutes(1)))
  func statusOfOthers() async throws {
    let fixture = try FolderFixture()
    let folder = try await Self.signedIn(fixture)
    let engine = FolderEngine(folder: folder) { _ in Self.quiet }
    await folder.store(of: "b")?.close()
    var statuses = engine.statuses.makeAsyncIterator()
    let status = await statuses.next()
    #expect(status?.databases.map { $0.sync == nil } == [false, true])
  }

  @Test(
    "a file that failed is tried again by itself, while the engine runs and with each sync (I12)",
    .timeLimit(.minutes(1)))
  func mending() async throws {
    let system = StoreEnvironment.system
    let tries = AsyncStream.makeStream(of: Void.self)
    // The time of the test.
    let environment = StoreEnvironment(now: system.now, random: system.random) { duration in
      guard duration == FolderEngine.rest else { return try await system.sleep(duration) }
      for await _ in tries.stream { return }
      throw CancellationError()
    }
    let fixture = try FolderFixture()
    let folder = try fixture.open(environment: environment)
    try await folder.add("b")
    let engine = FolderEngine(folder: folder) { _ in Self.quiet }
    func lose() {
      folder.files.lose(AttachedFiles.Loss(name: "b", reason: StoreError(.cannotOpen, "The disk failed.")))
      #expect(folder.databases.last?.state != .open)
    }
    lose()
    _ = try await engine.sync()
    #expect(folder.databases.map(\.state) == [.open, .open])
    lose()
    let running = Task { await engine.run() }
    var statuses = engine.statuses.makeAsyncIterator()
    tries.continuation.yield()
    #expect(await Self.next(&statuses) { $0.failed.isEmpty } != nil)
    running.cancel()
    await running.value
    await folder.close()
  }
}
