import Foundation
import HoldfastCore
import HoldfastHTTP
import HoldfastPostgres
import HoldfastSQLite
import ServerScenes
import Synchronization
import TemporaryPostgres
import Testing

@testable import HoldfastSQLiteStore
@testable import HoldfastServer

/// Devices with one token hold the same records, whatever was put in the database's place: I2, I4, I7.
@Suite("A SQLite database that went back", .enabled(if: Engine.used == .sqlite))
struct SQLiteHistoryTests {
  private let server: TestServer
  private let anna: TestDevice
  private let list: String
  private let item: String

  init() throws {
    server = try TestServer()
    anna = try server.signUp("anna")
    list = try anna.makeList()
    item = try anna.makeItem(list)
    try anna.pull()
  }

  private func epoch() throws -> String {
    try SQLiteHistory(SQLiteConnection(path: server.database, access: .readOnly)).epoch
  }

  private var copy: String { server.path + ".copy" }

  private func takeCopy() throws {
    try SQLiteConnection(path: server.database, access: .readWrite).backup(to: copy)
  }

  /// Puts the copy in the place of the database of a server that has ended.
  private func putBack() throws {
    server.inline = nil
    for ending in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: server.database + ending)
    }
    try FileManager.default.moveItem(atPath: copy, toPath: server.database)
  }

  private func edit(_ title: String) throws {
    try anna.sync([.update("items", item, ["title": .string(title)])])
  }

  @Test("a copy taken in the last run, put back, begins a new epoch, and the edit is asked for (I2)")
  func lastRun() throws {
    let before = try epoch()
    try takeCopy()
    try edit("Oat milk")
    #expect(try Administration(server.location).doctor().isEmpty)
    try putBack()
    #expect(try Administration(server.location).doctor().count { $0.kind == .history } == 1)
    try server.reopen()
    #expect(try Administration(server.location).doctor().isEmpty)
    #expect(try epoch() != before)
    try anna.sync()
    let answer = try anna.sync(complete: true)
    #expect(answer.parts.contains { $0.zone == list && $0.isReset })
  }

  @Test("a copy that is written over the database while it is served begins a new epoch (I2)")
  func underTheServer() throws {
    let before = try epoch()
    try takeCopy()
    try edit("Oat milk")
    try SQLiteConnection(path: copy).backup(to: server.database)
    // Nothing is written in the old epoch.
    let bob = try server.signUp("bob")
    #expect(try epoch() != before)
    _ = try bob.makeList()
    try anna.sync()
    let answer = try anna.sync(complete: true)
    #expect(answer.parts.contains { $0.zone == list && $0.isReset })
    let after = try epoch()
    try server.reopen()
    #expect(try epoch() == after)
  }

  @Test("a database of more commits, served elsewhere and written over this one, is noticed (I2)")
  func elsewhere() throws {
    let before = try epoch()
    try takeCopy()
    try SQLiteConnection(path: copy).execute(
      """
      UPDATE holdfast_meta SET value = CASE key WHEN 'run' THEN 'elsewhere' ELSE value + 1000 END
      WHERE key IN ('run', 'commits')
      """)
    try edit("Oat milk")
    try SQLiteConnection(path: copy).backup(to: server.database)
    _ = try server.signUp("bob")
    let history = try #require(server.inline).api.database.history
    #expect(history.previous == before && !history.isForkKnown)
    try server.reopen()
    #expect(try epoch() == history.epoch)
  }

  @Test("nothing is written into a file that is not there any more (I2)", arguments: [true, false])
  func moved(isReplaced: Bool) throws {
    try takeCopy()
    let aside = server.database + ".aside"
    try FileManager.default.moveItem(atPath: server.database, toPath: aside)
    if isReplaced { try FileManager.default.moveItem(atPath: copy, toPath: server.database) }
    let answer = try server.respond(to: anna.request([[.update("items", item, ["title": "Lost"])]]))
    #expect(answer.status == 503)
    if isReplaced { try FileManager.default.removeItem(atPath: server.database) }
    try FileManager.default.moveItem(atPath: aside, toPath: server.database)
    try edit("Kept")
    try anna.pull()
    #expect(anna.column("items", item, "title") == "Kept")
  }

  @Test("a copy of an earlier run that was given as many commits since is noticed")
  func earlierRun() throws {
    try takeCopy()
    try server.reopen()
    for number in 0..<5 { try edit("\(number)") }
    server.inline = nil
    try SQLiteConnection(path: copy).execute("UPDATE holdfast_meta SET value = 1000 WHERE key = 'commits'")
    let before = try epoch()
    try putBack()
    try server.reopen()
    let history = try #require(server.inline).api.database.history
    #expect(history.previous == before && !history.isForkKnown)
  }

  @Test(
    "a copy of an earlier run continues from the tokens that it has; one of another server does not (I2)",
    arguments: [false, true])
  func fork(isForeign: Bool) throws {
    try takeCopy()
    try server.reopen()
    try edit("Oat milk")
    server.inline = nil
    if isForeign {
      try SQLiteConnection(path: copy).execute(
        """
        UPDATE holdfast_meta SET value = CASE key WHEN 'run' THEN 'elsewhere' ELSE '1' END WHERE key IN ('run', 'commits')
        """)
    }
    try putBack()
    try server.reopen()
    #expect(try #require(server.inline).api.database.history.isForkKnown == !isForeign)
  }

  @Test("a database that came without what is beside it is noticed, once")
  func alone() throws {
    let before = try epoch()
    server.inline = nil
    try FileManager.default.removeItem(atPath: server.path + "/holdfast.history")
    try server.reopen()
    let after = try epoch()
    #expect(after != before)
    #expect(try !#require(server.inline).api.database.history.isForkKnown)
    try server.reopen()
    #expect(try epoch() == after)
  }

  @Test("what stands beside the database and can't be read counts as missing")
  func unreadable() throws {
    let before = try epoch()
    server.inline = nil
    try Data("?".utf8).write(to: URL(fileURLWithPath: server.path + "/holdfast.history"))
    try server.reopen()
    #expect(try epoch() != before)
  }

  @Test("the same copy put back a second time is noticed again")
  func twice() throws {
    try takeCopy()
    try FileManager.default.copyItem(atPath: copy, toPath: copy + "2")
    try edit("One")
    try putBack()
    try server.reopen()
    let first = try epoch()
    try FileManager.default.moveItem(atPath: copy + "2", toPath: copy)
    try putBack()
    try server.reopen()
    #expect(try epoch() != first)
  }

  @Test("a restored backup begins one epoch, and a copy from before its first start is noticed later")
  func restored() throws {
    let backup = try server.backUp()
    try edit("Oat milk")
    server.inline = nil
    _ = try Restore(server.location).run(backup, replacing: true)
    let restored = try epoch()
    try FileManager.default.copyItem(atPath: server.database, toPath: copy)
    try server.reopen()
    #expect(try epoch() == restored)
    let device = try server.signIn("anna")
    try device.pull()
    try device.sync([.update("items", item, ["title": "Rice milk"])])
    try putBack()
    try server.reopen()
    #expect(try epoch() != restored)
  }

  @Test("a restart, and a whole directory that was moved, are the same history")
  func moved() throws {
    let before = try epoch()
    try server.reopen()
    try edit("Oat milk")
    server.inline = nil
    let other = server.path + "-moved"
    defer { try? FileManager.default.removeItem(atPath: other) }
    try FileManager.default.copyItem(atPath: server.path, toPath: other)
    let moved = try InlineServer(.directory(other), schema: nil, environment: server.world.environment)
    #expect(moved.api.database.epoch == before)
  }

  @Test("commands that write to a database that is served are the same history")
  func commands() throws {
    let before = try epoch()
    try Administration(server.location).grant(zone: list, name: "anna", role: .owner)
    try server.reopen()
    #expect(try epoch() == before)
  }

  @Test("a directory whose database is gone is refused, and so is an empty one with --must-exist")
  func missing() throws {
    server.inline = nil
    try FileManager.default.removeItem(atPath: server.database)
    let refused = { (location: DatabaseLocation, mustExist: Bool) throws in
      _ = #expect {
        _ = try location.serve(
          schema: TestServer.schema(),
          DatabaseService(environment: server.world.environment, mustExist: mustExist, log: { _ in }))
      } throws: { ($0 as? ServerError)?.code == .databaseMissing }
    }
    try refused(server.location, false)
    let empty = server.path + "-unmounted"
    try refused(.directory(empty), true)
    // A check says the same, and so does a tool of the lost one.
    for (location, mustExist) in [(server.location, false), (.directory(empty), true)] {
      var configuration = Configuration(schema: try TestServer.schema(), database: location)
      configuration.mustExist = mustExist
      let error = #expect(throws: ServerError.self) { try Server.check(configuration) }
      #expect(error?.code == .databaseMissing)
    }
    let error = #expect(throws: ServerError.self) { try server.location.storedSchema() }
    #expect(error?.code == .databaseMissing)
    #expect(!FileManager.default.fileExists(atPath: empty))
  }

  @Test("a database that is made is said so")
  func said() throws {
    let notices = Mutex<[String]>([])
    let path = server.path + "-new"
    defer { try? FileManager.default.removeItem(atPath: path) }
    for _ in 0..<2 {
      _ = try InlineServer(
        .directory(path), schema: TestServer.schema(), environment: server.world.environment,
        notice: { line in notices.withLock { $0.append(line) } })
    }
    #expect(notices.withLock { $0 }.count == 1)
  }

  @Test("all marks have one size, and read back as they were written")
  func marks() {
    var mark = HistoryMark()
    #expect(HistoryMark(mark.bytes) == mark)
    for number in 0..<30 {
      let id = String(repeating: String(number % 10), count: 16)
      mark.begin(HistoryMark.Run(id: id, commits: .max - Int64(number)), in: "89abcdef")
    }
    mark.next = String(repeating: "0", count: 16)
    #expect(mark.bytes.count == HistoryMark.size)
    #expect(HistoryMark(mark.bytes) == mark)
    for count in 0..<HistoryMark.size { #expect(HistoryMark(Array(mark.bytes.prefix(count))) == nil) }
  }
}

/// The same for PostgreSQL, whose identity is compared at each start.
@Suite("A PostgreSQL database that went back", .enabled(if: Engine.used == .postgres))
struct PostgresHistoryTests {
  private let server: TestServer
  private let url: String

  init() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    self.url = url
    server = try TestServer { _ in .postgres(PostgresLocation(url)) }
    _ = try server.signUp("anna")
  }

  private func epoch(_ url: String) throws -> String {
    try PostgresConnection(url).query("SELECT value FROM holdfast.meta WHERE key = 'epoch'").text(0, 0)
  }

  private func serve(_ url: String, notice: @escaping @Sendable (String) -> Void = { _ in }) throws {
    _ = try InlineServer(
      .postgres(PostgresLocation(url)), schema: nil, environment: server.world.environment, notice: notice)
  }

  @Test("a restart, also of the database, is the same history")
  func restart() throws {
    let before = try epoch(url)
    for _ in 0..<3 { try serve(url) }
    #expect(try epoch(url) == before)
  }

  @Test("a copy of the database under another name begins a new epoch, once")
  func copied() throws {
    let before = try epoch(url)
    server.inline = nil
    let copy = try TemporaryPostgres.shared.makeDatabase(copying: url)
    let doctor = { try Administration(.postgres(PostgresLocation(copy))).doctor() }
    #expect(try doctor().count { $0.kind == .history } == 1)
    let notices = Mutex<[String]>([])
    try serve(copy) { line in notices.withLock { $0.append(line) } }
    let after = try epoch(copy)
    #expect(try doctor().isEmpty)
    #expect(after != before)
    #expect(notices.withLock { $0.count == 1 && $0[0].contains("another database") })
    try serve(copy)
    #expect(try epoch(copy) == after)
  }

  @Test("rows that a program has put back are noticed by who wrote them")
  func rowsPutBack() throws {
    let before = try epoch(url)
    server.inline = nil
    // As pg_restore writes it into a database that it has cleaned.
    try PostgresConnection(url).execute(
      "CREATE TEMP TABLE dump AS SELECT * FROM holdfast.meta; DELETE FROM holdfast.meta; INSERT INTO holdfast.meta SELECT * FROM dump"
    )
    try serve(url)
    #expect(try epoch(url) != before)
  }

  @Test("another timeline, or another cluster, begins a new epoch")
  func timeline() throws {
    for (part, other) in [(1, "1"), (2, "00000009")] {
      let before = try epoch(url)
      server.inline = nil
      try PostgresConnection(url).execute(
        """
        UPDATE holdfast.meta SET value = (
          SELECT string_agg(CASE n WHEN \(part) THEN '\(other)' WHEN 4 THEN pg_current_xact_id()::text ELSE word END, ' ' ORDER BY n)
          FROM unnest(string_to_array(value, ' ')) WITH ORDINALITY AS w (word, n)) WHERE key = 'history'
        """)
      try serve(url)
      #expect(try epoch(url) != before)
    }
  }

  @Test("a role that may not ask for the identity is served, by what it may ask for")
  func lackingRights() throws {
    let before = try epoch(url)
    try PostgresConnection(TemporaryPostgres.shared.superuserURL(of: url)).execute(
      """
      REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC;
      REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC
      """)
    for _ in 0..<2 { try serve(url) }
    #expect(try epoch(url) == before)
    server.inline = nil
    let copy = try TemporaryPostgres.shared.makeDatabase(copying: url)
    try serve(copy)
    #expect(try epoch(copy) != before)
  }

  @Test("an empty database is refused with --must-exist, and nothing is made")
  func missing() throws {
    let empty = try TemporaryPostgres.shared.makeDatabase()
    #expect {
      _ = try DatabaseLocation.postgres(PostgresLocation(empty)).serve(
        schema: TestServer.schema(),
        DatabaseService(environment: server.world.environment, mustExist: true, log: { _ in }))
    } throws: { ($0 as? ServerError)?.code == .databaseMissing }
    #expect(
      try PostgresConnection(empty).query("SELECT 1 FROM pg_namespace WHERE nspname = 'holdfast'").isEmpty)
  }
}
