import HoldfastCore
import HoldfastHTTP
import HoldfastPostgresStore
import ServerScenes
import Testing

@testable import HoldfastServer

/// What the doctor finds of access and of zones, and what the repair makes of it. Invariants I9 and I10.
@Suite struct AccessDoctorTests {
  private let server: TestServer
  private let alice: TestDevice
  private let bob: TestDevice
  private let eve: TestDevice
  private let list: String
  private let team: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    bob = try server.signUp("bob")
    eve = try server.signUp("eve")
    list = try alice.makeList()
    team = try alice.makeList("Team")
    _ = try alice.share(team, with: "bob")
    try alice.sync([
      .create("members", alice.newID(), ["zone": .string(list), "group": .string(team), "role": "viewer"])
    ])
  }

  /// Changes access behind the server's back.
  private func run(_ sql: String) throws {
    try server.change(
      sqlite: sql.replacing("ACCESS", with: "holdfast_access").replacing(
        "ACCOUNTS", with: "holdfast_accounts"),
      postgres: sql.replacing("ACCESS", with: "holdfast.access").replacing(
        "ACCOUNTS", with: "holdfast.accounts"))
  }

  private func repair() throws -> [String] {
    try DatabaseRepair(server.location, environment: server.world.environment).run()
  }

  private func canWrite(_ device: TestDevice) throws -> Bool {
    try device.sync([
      .create("items", device.newID(), ["list_id": .string(list), "title": "x"])
    ]).refused.isEmpty
  }

  @Test(
    "access that says something else than members and groups is found, named and put right (I10)",
    arguments: [
      ("UPDATE ACCESS SET role = 'owner' WHERE role = 'viewer'", "has owner in the zone", "say viewer"),
      (
        "INSERT INTO ACCESS (zone, \"user\", role) SELECT 'LIST', id, 'owner' FROM ACCOUNTS WHERE name = 'eve'",
        "has owner in the zone", "say nothing"
      ),
      ("DELETE FROM ACCESS WHERE zone = 'LIST' AND role = 'owner'", "has nothing in the zone", "say owner"),
      ("DELETE FROM ACCESS WHERE zone = 'LIST' AND role = 'viewer'", "has nothing in the zone", "say viewer"),
    ])
  func access(_ sql: String, _ found: String, _ due: String) throws {
    #expect(try server.findings() == [])
    try run(sql.replacing("LIST", with: list))
    let findings = try server.findings()
    #expect(findings.count == 1)
    let finding = try #require(findings.first)
    #expect(finding.hasPrefix("access: ") && finding.contains("\(found) \(list)") && finding.contains(due))
    #expect(try repair() == ["repaired: access to the zone \(list), 1 users"])
    #expect(try server.findings() == [])
    #expect(try canWrite(alice) && !canWrite(bob) && !canWrite(eve))
    try bob.pull()
    #expect(bob.has("lists", list))
    #expect(try repair() == [])
  }

  @Test("who loses by the repair what was never theirs is told on all devices (I10)") func lost() throws {
    try run(
      "INSERT INTO ACCESS (zone, \"user\", role) SELECT '\(list)', id, 'owner' FROM ACCOUNTS WHERE name = 'eve'"
    )
    try eve.pull()
    #expect(eve.has("lists", list))
    _ = try repair()
    try eve.pull()
    #expect(!eve.has("lists", list))
  }

  @Test("access to a zone that is not there is found, and goes (I10)") func nowhere() throws {
    try run(
      "INSERT INTO ACCESS (zone, \"user\", role) SELECT 'nowhere', id, 'owner' FROM ACCOUNTS WHERE name = 'eve'"
    )
    #expect(try server.findings().count == 1)
    #expect(try repair() == ["repaired: access to the zone nowhere, 1 users"])
    #expect(try server.findings() == [])
  }

  @Test("a record whose zone is not its parent's, or its table's rule, is found on SQLite (I9, I10)")
  func places() throws {
    let server = try TestServer(engine: .sqlite)
    let alice = try server.signUp("alice")
    let (list, other) = (try alice.makeList(), try alice.makeList("other"))
    let item = try alice.makeItem(list)
    try server.change(sqlite: "UPDATE items SET list_id = '\(other)'", postgres: "")
    #expect(
      try server.findings() == [
        "zone: items \(item) is in the zone \(list), and the record of lists that its list_id names in \(other)"
      ])
    try server.change(
      sqlite:
        "UPDATE items SET list_id = '\(list)'; UPDATE lists SET zone = '\(list)', seq = 50 WHERE id = '\(other)'",
      postgres: "")
    #expect(
      try server.findings().contains("zone: lists \(other) is in the zone \(list), where it does not belong"))
  }

  @Test("a public zone does not take the name of a zone that is somebody's (I10)") func publicName() throws {
    try server.change(
      sqlite: "INSERT INTO holdfast_zones (zone, seq) VALUES ('news', 0)",
      postgres: "INSERT INTO holdfast.zones (zone, seq) VALUES ('news', 0)")
    let text = TestServer.text.replacing(
      #""products": {"#,
      with: #""news": {"zone": {"public": "news"}, "columns": {"text": {"type": "text"}}}, "products": {"#
    )
    do {
      try server.reopen(SyncSchema(json: Array(text.utf8)))
      Issue.record("The schema was taken.")
    } catch let error as ServerError { #expect(error.code == .schemaCannotChange) }
    try server.reopen(TestServer.schema())
    #expect(try server.findings() == [])
  }
}
