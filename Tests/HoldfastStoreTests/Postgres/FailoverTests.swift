import Foundation
import HoldfastCore
import HoldfastHTTP
import HoldfastPostgres
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// A database that goes back under servers that run on: I2, I3. Docs: RESTORING.md, section 6.
@Suite struct FailoverTests {
  private func epoch(_ url: String) throws -> String {
    try PostgresConnection(url).query("SELECT value FROM holdfast.meta WHERE key = 'epoch'").text(0, 0)
  }

  private func serve(_ url: String) throws -> TestServer {
    try TestServer { _ in .postgres(PostgresLocation(url)) }
  }

  /// Asks each server something, for which each makes a new connection.
  private func ask(_ servers: TestServer...) throws {
    for server in servers { _ = try server.send("GET", "/readyz", token: "") }
    for server in servers { _ = try server.send("GET", "/v1/zones", token: "unknown") }
  }

  @Test(
    "files of a backup that are put back under running servers begin one new epoch; a restart begins none")
  func filesPutBack() throws {
    let cluster = try TemporaryPostgres()
    let url = try cluster.makeDatabase()
    let (one, two) = (try serve(url), try serve(url))
    let anna = try one.signUp("anna")
    let list = try anna.makeList()
    try ask(one, two)
    let before = try epoch(url)
    try cluster.stop()
    try cluster.keep()
    try cluster.start()
    try ask(two, one)
    #expect(try epoch(url) == before)
    let item = try anna.makeItem(list)
    try ask(two, one)
    try cluster.restart(isCrash: true)
    try ask(two, one)
    #expect(try epoch(url) == before)
    try anna.pull()
    try cluster.stop()
    try cluster.putBack()
    try cluster.start()
    // It alone has a confirmation of what is lost.
    try ask(one)
    let after = try epoch(url)
    #expect(after != before)
    try ask(two, one)
    #expect(try epoch(url) == after)
    let answer = try anna.apply(one.respond(to: anna.request([])))
    #expect(answer.mustResend)
    #expect(anna.has("items", item))
  }

  /// Writes as soon as the pooler leads to the database, and expects that an epoch has begun before.
  private func expectEpoch(
    after before: String, in url: String, beforeWriteOf device: TestDevice, to list: String
  ) throws {
    let rest = RestClient(device)
    let item: JSONValue = ["columns": ["list_id": .string(list), "title": "Tea"]]
    var reply = try rest.send("POST", "/v1/tables/items", item, id: "one")
    try blockUntil {
      if reply.status == 503 { reply = try rest.send("POST", "/v1/tables/items", item, id: "one") }
      return reply.status != 503
    }
    #expect(reply.status == 201)
    #expect(try epoch(url) != before)
    let sql = try PostgresConnection(url)
    let find: PostgresStatement = "SELECT seq - restored FROM holdfast.zones WHERE zone = $1"
    #expect(try sql.query(find, PostgresParameters(list)).int64(0, 0) == 1)
    #expect(try device.apply(device.server.respond(to: device.request([]))).mustResend)
  }

  @Test("a lane whose pooler leads to files that were put back begins an epoch before it writes (I2, I4)")
  func filesPutBackBehindPooler() throws {
    let cluster = try TemporaryPostgres()
    let url = try cluster.makeDatabase()
    try cluster.psql(url, "ALTER ROLE CURRENT_USER SET row_security = off")
    let pooler = try TemporaryPooler(before: cluster)
    defer { withExtendedLifetime(pooler) {} }
    let location = PostgresLocation(try pooler.url(of: url), direct: url)
    let server = try TestServer { _ in .postgres(location) }
    let anna = try server.signUp("anna")
    let list = try anna.makeList()
    try cluster.stop()
    try cluster.keep()
    try cluster.start()
    let item = try anna.makeItem(list)
    try anna.pull()
    let before = try epoch(url)
    try cluster.stop()
    try cluster.putBack()
    try cluster.start()
    try expectEpoch(after: before, in: url, beforeWriteOf: anna, to: list)
    #expect(anna.has("items", item))
  }

  /// Waits until a standby has replayed all that its primary has written.
  private func waitUntil(_ standby: PostgresConnection, hasAllOf primary: String) throws {
    let end = try PostgresConnection(primary).query("SELECT pg_current_wal_lsn()::text").text(0, 0)
    let hasAll: PostgresStatement = "SELECT (pg_last_wal_replay_lsn() >= $1::pg_lsn)::text"
    try blockUntil { try standby.query(hasAll, PostgresParameters(end)).text(0, 0) == "true" }
  }

  @Test("a write that is lost at its commit is answered only where a repeat tells whether it is done (I1)")
  func unheardCommit() throws {
    let cluster = try TemporaryPostgres()
    let url = try cluster.makeDatabase()
    let server = try serve(url)
    let anna = RestClient(try server.signUp("anna"))
    let path = "/v1/tables/lists/\(try anna.create("lists", ["title": "one"]))"
    let sql = try PostgresConnection(cluster.superuserURL(of: url))
    func standbys(_ names: String) throws {
      try sql.execute("ALTER SYSTEM SET synchronous_standby_names = '\(names)'")
      try sql.execute("SELECT pg_reload_conf()")
    }
    /// Ends the process that waits for a standby, which is none, when it has committed.
    func lose(_ request: HTTPRequest) throws -> HTTPResponse {
      try standbys("nobody")
      var probes: [Background<Void>] = []
      let waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
      try blockUntil {
        let name = "probe_\(probes.count)_\(request.id)"
        probes.append(
          Background {
            try PostgresConnection(url).execute("CREATE TABLE \"\(name)\" (); DROP TABLE \"\(name)\"")
          })
        return try !sql.query(PostgresStatement("SELECT 1 \(waiting)")).isEmpty
      }
      let lent = Lent(value: server)
      let answer = Background { try lent.value.respond(to: request) }
      try blockUntil {
        try !sql.query(
          PostgresStatement(
            "SELECT pg_terminate_backend(pid) \(waiting) AND application_name = 'holdfast writes'")
        ).isEmpty
      }
      let response = try answer.wait()
      try standbys("")
      for probe in probes { try probe.wait() }
      return response
    }
    let body: JSONValue = ["columns": ["title": "two"]]
    let unanswered = try lose(anna.request("PATCH", path, body))
    #expect(unanswered.isCut)
    #expect(try anna.get(path).column("title") == "two")
    let named = anna.request("PATCH", path, ["columns": ["title": "three"]], id: "three")
    let answered = try lose(named)
    #expect(!answered.isCut && answered.status == 503)
    let again = RestClient.Reply(try server.respond(to: named))
    #expect(again.status == 200 && again.rev == 3)
  }

  /// The URL of whichever of both servers takes writes.
  private func either(_ url: String, or standby: TemporaryPostgres) throws -> String {
    let port = try #require(URLComponents(string: standby.url)?.port)
    var parts = try #require(URLComponents(string: url))
    let first = try #require(parts.port)
    parts.port = nil
    return try #require(parts.string).replacing(
      "127.0.0.1", with: "127.0.0.1:\(first),127.0.0.1:\(port)") + "?target_session_attrs=read-write"
  }

  /// Lets a standby hear nothing any more of its primary.
  private func cutOff(_ standby: TemporaryPostgres, of url: String) throws {
    let other = try PostgresConnection(standby.superuserURL(of: url))
    defer { other.close() }
    try waitUntil(other, hasAllOf: url)
    try other.execute("ALTER SYSTEM SET primary_conninfo = ''")
    try other.execute("SELECT pg_reload_conf()")
    try blockUntil { try other.query("SELECT 1 FROM pg_stat_wal_receiver").isEmpty }
  }

  @Test("a lane whose pooler leads to a promoted standby begins an epoch before it writes (I2, I4, I7)")
  func promotedBehindPooler() throws {
    let primary = try TemporaryPostgres()
    let url = try primary.makeDatabase()
    try primary.psql(url, "ALTER ROLE CURRENT_USER SET row_security = off")
    let standby = try TemporaryPostgres(standbyOf: primary)
    let pooler = try TemporaryPooler(before: primary)
    defer { withExtendedLifetime(pooler) {} }
    let location = PostgresLocation(try pooler.url(of: url), direct: try either(url, or: standby))
    let server = try TestServer { _ in .postgres(location) }
    let anna = try server.signUp("anna")
    let list = try anna.makeList()
    try cutOff(standby, of: url)
    let item = try anna.makeItem(list)
    try anna.pull()
    let before = try epoch(url)
    try primary.kill()
    try standby.promote()
    try pooler.lead(to: standby)
    try expectEpoch(after: before, in: standby.superuserURL(of: url), beforeWriteOf: anna, to: list)
    #expect(anna.has("items", item))
  }

  @Test("a standby that has not heard all, promoted under running servers, begins one new epoch")
  func promoted() throws {
    let primary = try TemporaryPostgres()
    let url = try primary.makeDatabase()
    let standby = try TemporaryPostgres(standbyOf: primary)
    let either = try either(url, or: standby)
    let (one, two) = (try serve(either), try serve(either))
    let anna = try one.signUp("anna")
    let list = try anna.makeList()
    try cutOff(standby, of: url)
    let item = try anna.makeItem(list)
    try anna.pull()
    let before = try epoch(either)
    try primary.kill()
    try standby.promote()
    try ask(two, one)
    let after = try epoch(either)
    #expect(after != before)
    try ask(one, two)
    #expect(try epoch(either) == after)
    let answer = try anna.apply(two.respond(to: anna.request([])))
    #expect(answer.mustResend)
    #expect(anna.has("items", item))
  }

  @Test("a standby is backed up among the backups of its primary, and read by the doctor")
  func backups() throws {
    let primary = try TemporaryPostgres()
    let url = try primary.makeDatabase()
    // To open a database with public zones writes to it.
    let schema =
      #"{"holdfast": 1, "name": "lists", "tables": {"lists": {"zone": "root", "columns": {"a": {"type": "text"}}}}}"#
    let server = try TestServer(try SyncSchema(json: Array(schema.utf8))) { _ in
      .postgres(PostgresLocation(url))
    }
    _ = try server.signUp("anna")
    let standby = try TemporaryPostgres(standbyOf: primary)
    let other = try standby.superuserURL(of: url)
    try waitUntil(PostgresConnection(other), hasAllOf: url)
    let path = server.folder.appendingPathComponent("kept").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let first = try BackupFolder(path).add(Backup(server.location), keeping: 1)
    let second = try BackupFolder(path).add(Backup(.postgres(PostgresLocation(other))), keeping: 1)
    #expect(second.removed == [first.path] && second.others == 0)
    let administration = try Administration(.postgres(PostgresLocation(other)))
    #expect(try administration.doctor() + administration.doubts() == [])
  }

  @Test("a server whose database is a standby answers 503, and serves nothing of it")
  func standby() throws {
    let primary = try TemporaryPostgres()
    let url = try primary.makeDatabase()
    let standby = try TemporaryPostgres(standbyOf: primary)
    var parts = try #require(URLComponents(string: url))
    let first = try #require(parts.port)
    parts.port = nil
    let port = try #require(URLComponents(string: standby.url)?.port)
    let either = try #require(parts.string).replacing(
      "127.0.0.1", with: "127.0.0.1:\(first),127.0.0.1:\(port)")
    let server = try serve(either)
    let anna = try server.signUp("anna")
    let list = try anna.makeList()
    let other = try PostgresConnection(standby.superuserURL(of: url))
    try waitUntil(other, hasAllOf: either)
    try primary.kill()
    #expect(try server.send("GET", "/v1/tables/lists/\(list)", token: anna.token).status == 503)
    let before = try PostgresConnection(either).query("SELECT value FROM holdfast.meta WHERE key = 'epoch'")
      .text(0, 0)
    try standby.promote()
    // After a connection that failed no other is tried for a moment.
    try blockUntil { try server.send("GET", "/v1/tables/lists/\(list)", token: anna.token).status != 503 }
    #expect(try server.send("GET", "/v1/tables/lists/\(list)", token: anna.token).status == 200)
    #expect(try epoch(either) != before)
  }
}
