import HoldfastCore
import HoldfastHTTP
import HoldfastSQLite
@testable import HoldfastSQLiteStore
@testable import HoldfastServer
import ServerScenes
import Testing

/// I11: what a database keeps does not grow with its history.
@Suite("The bound of purging")
struct RetentionBoundTests {
  /// The rows of every table.
  private func rows(_ server: TestServer) throws -> TextMap<Int64> {
    let pairs: [(String, String)] = [
      ("holdfast_zones", "zones"), ("holdfast_tombstones", "records"), ("holdfast_devices", "devices"),
      ("holdfast_acks", "acks"), ("holdfast_refusals", "refusals"), ("holdfast_requests", "requests"),
      ("holdfast_created", "created"), ("holdfast_results", "results"), ("holdfast_result_ids", "result_ids"),
      ("holdfast_accounts", "accounts"), ("members", "members"), ("conflicts", "conflicts"),
      ("holdfast_notified", "notified"), ("holdfast_meta", "meta"), ("holdfast_carried", "carried"),
    ]
    var counts: TextMap<Int64> = [:]
    for (sqlite, postgres) in pairs {
      counts[postgres] = try server.integer(
        "SELECT count(*) FROM \(sqlite)", "SELECT count(*) FROM holdfast.\(postgres)")
    }
    for table in ["lists", "tags", "items", "seals", "notes", "products"] {
      counts[table] = try server.integer("SELECT count(*) FROM \(table)", "SELECT count(*) FROM \(table)")
    }
    return counts
  }

  @Test("after thousands of records that came and went every table has as many rows as before (I11)")
  func cycles() throws {
    let server = try TestServer()
    let inline = try #require(server.inline)
    let anna = try server.signUp("anna")
    let list = try anna.makeList()
    try anna.pull()
    _ = try inline.purge()
    let before = try rows(server)
    var purged = 0
    for _ in 0..<10 {
      let ids = (0..<300).map { _ in anna.newID() }
      try anna.sync(ids.map { .create("items", $0, ["list_id": .string(list), "title": "Milk"]) })
      try anna.sync(ids.map { .delete("items", $0, at: Stamp(milliseconds: server.world.now)) })
      try anna.pull()
      server.world.advance(RetentionTests.day + 1)
      try anna.sync()
      purged += try inline.purge().tombstones
      #expect(try rows(server) == before)
    }
    #expect(purged == 3000)
    #expect(try server.findings().isEmpty)
  }

  @Test("a command removes 500 tombstones at the most; a pass gives it as often as there are any (I11)")
  func steps() throws {
    let server = try TestServer()
    let inline = try #require(server.inline)
    let anna = try server.signUp("anna")
    let list = try anna.makeList()
    let ids = (0..<1200).map { _ in anna.newID() }
    try anna.sync(ids.map { .create("items", $0, ["list_id": .string(list), "title": "Milk"]) })
    try anna.sync(ids.map { .delete("items", $0, at: Stamp(milliseconds: server.world.now)) })
    try anna.pull()
    server.world.advance(RetentionTests.day + 1)
    let terms = RetentionTerms(
      Retention(), in: inline.api.database.history, at: TrustedTime(time: server.world.now))
    let step = inline.service.apply([.purge(.tombstones(zone: list), terms)])[0]
    guard case .success(.purged(let first))? = step else {
      Issue.record("The command failed.")
      return
    }
    #expect(first.tombstones == 500 && first.hasMore)
    let rest = try inline.purge()
    #expect(rest.tombstones == 700 && rest.zones == 2)
  }

  @Test("a device that has everything of 1,000 zones asks and is answered in less than a kilobyte (I11)")
  func upToDate() throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    for _ in 0..<10 {
      try anna.sync((0..<100).map { _ in .create("lists", anna.newID(), ["title": "List"]) })
    }
    try anna.pull()
    #expect(anna.acks.count == 1001)
    let request = anna.request([])
    #expect(request.body.count < 1024)
    let answer = try server.respond(to: request)
    #expect(answer.body.count < 1024)
    #expect(try anna.apply(answer).parts.isEmpty)
  }

  @Test("acks come with the next sync, or alone, and move the horizon at once (I11)")
  func acksAlone() throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    let bert = try server.signUp("bert")
    let list = try anna.makeList()
    _ = try anna.share(list, with: "bert")
    try bert.pull()
    let item = try anna.makeItem(list)
    try bert.sync()
    let lag = try #require(try server.lag(of: bert.user).first)
    #expect(lag.behind > 0 && lag.changes > 0)
    try bert.sync()
    #expect(try server.lag(of: bert.user).map(\.behind) == [0])
    #expect(bert.has("items", item))
  }

  @Test("who lags: zones, how many are behind, by how many changes, and what the device says of itself")
  func lag() throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    let phone = try server.signIn("anna")
    let list = try anna.makeList()
    try anna.pull()
    try phone.pull()
    for _ in 0..<3 { _ = try anna.makeItem(list) }
    try anna.pull()
    phone.client = ClientVersion(app: "jot 1.2", schema: "0123456789abcdef")
    try phone.sync()
    let lags = try server.lag(of: anna.user)
    let behind = try #require(lags.first { $0.id == phone.id })
    #expect(behind.zones == 2 && behind.behind == 1 && behind.changes == 3)
    #expect(behind.client == phone.client)
    #expect(lags.first { $0.id == anna.id }?.behind == 0)
    #expect(try Administration(server.location).devices().rows.contains { $0.contains("jot 1.2") })
  }

  @Test("an operator has a device resync; a complete request that crosses it does not undo that (I3)")
  func resetByHand() throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    let list = try anna.makeList()
    let item = try anna.makeItem(list)
    try anna.pull()
    let operators = try Administration(server.location)
    #expect(try operators.reset(.device(anna.id), zone: list) == 1)
    let title = try anna.sync([.update("items", item, ["title": "Oat milk"])], complete: true)
    #expect(title.parts.contains { $0.zone == list && $0.isReset })
    try anna.pull()
    #expect(anna.column("items", item, "title") == "Oat milk")
    #expect(try anna.sync().parts.isEmpty)
    #expect(try operators.reset(.user("anna"), zone: nil) == 2)
    #expect(try anna.sync().parts.filter(\.isReset).count == 2)
    try anna.pull()
    #expect(try operators.reset(.all, zone: nil) == 2)
    #expect(throws: ServerError.self) { try operators.reset(.device("nobody"), zone: nil) }
  }
}

/// What the statements of a sync cost.
@Suite("The plan of a sync, in SQLite", .enabled(if: Engine.used == .sqlite))
struct SyncPlanSQLiteTests {
  @Test("the zones of a device and the horizon of a zone are found by indexes")
  func plan() throws {
    let server = try TestServer()
    let statements = [
      (SQLiteReader.zonesOfDevice, 2), (SQLitePurge.leastAck, 6), (SQLitePurge.nextZones, 2),
    ]
    for (sql, parameters) in statements {
      let values = Array(repeating: SQLiteValue.null, count: parameters)
      for row in try server.connection.rows("EXPLAIN QUERY PLAN " + sql, values) {
        let step = row[3].text ?? ""
        #expect(!step.hasPrefix("SCAN") || step == "SCAN next" || step == "SCAN CONSTANT ROW", "\(step)")
      }
    }
  }
}
