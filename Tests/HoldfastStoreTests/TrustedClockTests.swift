import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer

/// Clocks that jump: nothing is purged by one jump, and nothing lasts for ever. Invariants I3, I8 and I11; docs/RETENTION.md, section 7.
@Suite struct TrustedClockTests {
  private static let day = RetentionTests.day

  /// A list with an item that two devices have, another that was deleted, and a conflict.
  private func scene() throws -> (server: TestServer, anna: TestDevice, bert: TestDevice, list: String) {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    let bert = try server.signUp("bert")
    let list = try anna.makeList()
    let item = try anna.makeItem(list, "one")
    _ = try anna.share(list, with: "bert")
    try anna.pull()
    try bert.pull()
    try anna.sync([.update("items", item, ["title": "two"])])
    try bert.sync([.update("items", item, ["title": "three"])])
    try anna.sync([.delete("items", item, at: Stamp(milliseconds: server.world.now))])
    try anna.pull()
    try bert.pull()
    try purge(server)
    return (server, anna, bert, list)
  }

  @discardableResult
  private func purge(_ server: TestServer) throws -> Purged { try #require(server.inline).purge() }

  private func count(_ server: TestServer, _ table: String) throws -> Int64? {
    try server.integer("SELECT count(*) FROM holdfast_\(table)", "SELECT count(*) FROM holdfast.\(table)")
  }

  private func conflicts(_ server: TestServer) throws -> Int64? {
    try server.integer("SELECT count(*) FROM conflicts", "SELECT count(*) FROM holdfast.conflicts")
  }

  @Test("an action of an operator whose clock is 500 days ahead removes no older ones from the log (I11)")
  func auditLog() throws {
    let server = try TestServer()
    let administration = try Administration(server.location, environment: server.world.environment)
    try administration.noteBackup("first")
    server.world.setClock(ahead: 500 * Self.day)
    try administration.noteBackup("second")
    #expect(try count(server, "audit") == 2)
  }

  @Test("a clock that jumps 400 days purges nothing, before or after a restart (I3, I11)")
  func jump() throws {
    let (server, anna, bert, _) = try scene()
    let (acks, log) = (try count(server, "acks"), try conflicts(server))
    #expect(acks ?? 0 > 0 && log ?? 0 > 0)
    server.world.setClock(ahead: 400 * Self.day)
    #expect(try purge(server) == Purged())
    try server.reopen()
    #expect(try purge(server) == Purged())
    #expect(try count(server, "acks") == acks)
    #expect(try conflicts(server) == log)
    #expect(try server.findings().contains { $0.hasPrefix("clock: The clock is 400 days ahead") })
    // Nobody is signed out by it.
    #expect(try !anna.sync().mustResend)
    #expect(try RestClient(bert).get("/v1/zones").status == 200)
    server.world.setClock(ahead: 0)
    #expect(try purge(server) == Purged())
    #expect(try server.findings().isEmpty)
    // What is measured counts as before.
    server.world.advance(2 * Self.day)
    #expect(try purge(server).tombstones > 0)
  }

  @Test("a clock that has run steadily for 7 days is believed (I11)")
  func proof() throws {
    let (server, anna, bert, _) = try scene()
    server.world.setClock(ahead: 100 * Self.day)
    #expect(try purge(server) == Purged())
    for _ in 0..<6 {
      server.world.advance(Self.day)
      // Who speaks meanwhile is not taken for dead afterwards.
      try anna.sync()
      #expect(try purge(server).acks == 0)
    }
    server.world.advance(Self.day)
    let purged = try purge(server)
    #expect(purged.acks > 0 && purged.conflicts > 0)
    #expect(try !anna.sync().mustResend)
    #expect(try bert.sync().mustResend)
    #expect(try server.findings().isEmpty)
  }

  @Test("a clock that jumps again begins its 7 days again")
  func twice() throws {
    let (server, _, _, _) = try scene()
    server.world.setClock(ahead: 100 * Self.day)
    try purge(server)
    server.world.advance(6 * Self.day)
    server.world.setClock(ahead: 200 * Self.day)
    #expect(try purge(server).acks == 0)
    server.world.advance(2 * Self.day)
    #expect(try purge(server).acks == 0)
    server.world.advance(5 * Self.day)
    #expect(try purge(server).acks > 0)
  }

  @Test(
    "a server that stood still for two months purges nothing at once; the operator may say that the clock is right"
  )
  func stop() throws {
    let (server, _, _, _) = try scene()
    server.inline = nil
    server.world.advance(100 * Self.day)
    try server.reopen()
    #expect(try purge(server) == Purged())
    server.inline = nil
    let administration = try Administration(server.location, environment: server.world.environment)
    var warnings: [String] = []
    #expect(try administration.purge(warn: { warnings.append($0) }) == Purged())
    #expect(warnings.count == 1 && warnings[0].contains("holdfast purge --trust-clock"))
    warnings = []
    #expect(try administration.purge(trustsClock: true, warn: { warnings.append($0) }).acks > 0)
    #expect(warnings.isEmpty)
    #expect(try administration.doctor().isEmpty)
  }

  @Test(
    "a clock that is set back purges nothing, and what was written ahead of it lasts no longer (I10, I11)")
  func back() throws {
    let (server, anna, _, list) = try scene()
    let client = RestClient(anna)
    server.world.setClock(ahead: 400 * Self.day)
    try purge(server)
    let eve = try server.signUp("eve")
    try anna.sync([.update("lists", list, ["title": "later"])])
    let body: JSONValue = ["role": "viewer", "expires_in": 3600, "uses": 1]
    let invitation = try client.send("POST", "/v1/zones/\(list)/invitations", body)
    #expect(invitation.status == 201)
    server.world.setClock(ahead: 0)
    #expect(try purge(server) == Purged())
    let late = try server.integer(
      "SELECT count(*) FROM holdfast_devices WHERE max(seen_at, session_at) > \(server.world.now)",
      "SELECT count(*) FROM holdfast.devices WHERE greatest(seen_at, session_at) > \(server.world.now)")
    #expect(late == 0)
    let token: JSONValue = ["token": invitation.json["token"] ?? .null]
    #expect(try RestClient(eve).send("POST", "/v1/invitations/accept", token).code == "invitation-invalid")
    #expect(try client.get("/v1/zones/\(list)/invitations").json["invitations"] == .array([]))
    server.world.advance(181 * Self.day)
    #expect(try RestClient(eve).get("/v1/zones").status == 401, "its session is idle for half a year")
  }

  @Test("a clock that was set back and is right again ends no session, old or new (I2)")
  func backAndRight() throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    let list = try anna.makeList()
    for days in [-400, -181, -20_000] as [Int64] {
      server.world.setClock(ahead: days * Self.day)
      try anna.sync([.update("lists", list, ["title": .string("\(days)")])])
      let client = RestClient(try server.signIn("anna"))
      #expect(try client.get("/v1/zones").status == 200)
      let (path, id) = ("/v1/tables/lists/\(list)", anna.newID())
      let body: JSONValue = ["columns": ["title": .string("once \(days)")]]
      #expect(try client.send("PATCH", path, body, ["X-Client-Request-ID": id]).status == 200)
      server.world.setClock(ahead: 0)
      #expect(try client.get("/v1/zones").status == 200)
      try anna.pull()
      try anna.sync([.update("lists", list, ["title": "again"], rev: 99)])
      #expect(try client.send("PATCH", path, body, ["X-Client-Request-ID": id]).status == 200)
      try anna.pull()
      #expect(anna.column("lists", list, "title") == "again", "the request had its effect once")
    }
  }

  @Test("a clock that is ahead from the second start on ends no session, whatever devices write by it (I2)")
  func newDatabase() throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    try anna.pull()
    server.world.setClock(ahead: 800 * Self.day)
    for _ in 0..<3 {
      try server.reopen()
      #expect(try RestClient(anna).get("/v1/zones").status == 200)
      _ = try anna.makeList()
    }
  }

  @Test(
    "counts of attempts and of what is done in an hour go by what is measured, wherever the clock is set (I10)"
  )
  func windows() throws {
    let server = try TestServer()
    server.world.limits.withLock { $0.lookUpsInHour = 1 }
    try server.reopen()
    let client = RestClient(try server.signUp("anna"))
    server.world.setClock(ahead: 400 * Self.day)
    #expect(try client.get("/v1/users?name=anna").status == 200)
    server.world.setClock(ahead: 0)
    #expect(try client.get("/v1/users?name=anna").status == 429)
    server.world.setClock(ahead: 400 * Self.day)
    #expect(try client.get("/v1/users?name=anna").status == 429, "a clock ahead ends no window")
    server.world.advance(3_600_000)
    server.world.setClock(ahead: 0)
    #expect(try client.get("/v1/users?name=anna").status == 200)
  }

  @Test("a request that is repeated has its effect once, wherever the clock is set (I1)")
  func replay() throws {
    let (server, anna, _, list) = try scene()
    let client = RestClient(anna)
    let body: JSONValue = ["columns": ["title": "once"]]
    let id = anna.newID()
    let path = "/v1/tables/lists/\(list)"
    let first = try client.send("PATCH", path, body, ["X-Client-Request-ID": id])
    #expect(first.status == 200)
    for ahead in [400, -400, 0] as [Int64] {
      server.world.setClock(ahead: ahead * Self.day)
      try purge(server)
      #expect(try client.send("PATCH", path, body, ["X-Client-Request-ID": id]).body == first.body)
    }
  }

  @Test("nodes with different clocks go by one time, and what one has measured the other believes")
  func nodes() throws {
    let world = TestWorld()
    func clock(_ stored: TrustedTime?) -> TrustedClock {
      TrustedClock(stored: stored, last: world.now, world.environment)
    }
    let (ahead, right) = (clock(nil), clock(nil))
    var row: TrustedTime?
    for _ in 0..<10 {
      world.advance(Self.day)
      world.setClock(ahead: 400 * Self.day)
      row = ahead.step(row, trusts: false).time
      world.setClock(ahead: 0)
      #expect(row?.time == world.now && row?.doubt != nil)
      row = right.step(row, trusts: false).time
      #expect(row == TrustedTime(time: world.now))
    }
    #expect(TrustedTime("5 3 90000000")?.text == "5 3 90000000")
    #expect(TrustedTime("5") == TrustedTime(time: 5))
    #expect(TrustedTime("") == nil)
  }
}
