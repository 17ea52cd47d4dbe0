import HoldfastCore
import HoldfastHTTP
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// What operators do in the console, and what is written of it.
@Suite("Actions in the console") struct ConsoleActionTests {
  let scene: ConsoleScene
  let server: TestServer
  let anna: TestDevice
  let list: String

  init() throws {
    scene = try ConsoleScene()
    server = scene.server
    anna = try server.signUp("anna")
    list = try anna.makeList()
    try anna.pull()
  }

  private func entries() throws -> [JSONValue] {
    try #require(scene.get("audit")["entries"]?.elements)
  }

  private func revoke(_ id: String) -> String { "{\"action\": \"revoke\", \"device\": \"\(id)\"}" }

  @Test("a device is signed out, and the audit log has who did it, from where, and to what (I10)")
  func revoked() throws {
    #expect(try scene.post("actions", revoke(anna.id)).status == 200)
    #expect(try RestClient(anna).get("/v1/tables/lists").status == 401)
    let entry = try #require(try entries().first)
    #expect(entry["action"] == "revoke" && entry["target"] == .string(anna.id))
    #expect(entry["operator"] == "ada" && entry["node"] == "node")
    // Twice does no more than once, and is written too.
    #expect(try scene.post("actions", revoke(anna.id)).status == 200)
    #expect(try entries().count == 2)
  }

  @Test("a device's zone is reset")
  func reset() throws {
    let body = "{\"action\": \"reset\", \"device\": \"\(anna.id)\", \"zone\": \"\(list)\"}"
    #expect(try scene.post("actions", body).status == 200)
    let zones = try #require(scene.get("devices/\(anna.id)")["zones"]?.elements)
    #expect(zones.first { $0["zone"] == .string(list) }?["state"] == "resync")
    #expect(try entries().first?["detail"] == .string("zone \(list); 1 to fetch again"))
  }

  @Test("the token that reads does not act, and its session cannot be made one that does (I10)")
  func readOnly() throws {
    #expect(try scene.post("actions", revoke(anna.id), as: ConsoleScene.token).status == 403)
    let cookie = try scene.signIn()
    let parts = cookie.split(separator: ".")
    for forged in [
      "\(parts[0]).\(parts[1]).ada.\(parts[2])", "\(cookie).ada", "\(parts[0]).\(parts[1]).ada.",
    ] {
      let request = ConsoleScene.request(
        "POST", "api/actions", ConsoleScene.mark + [("Cookie", forged)], body: revoke(anna.id))
      #expect(try scene.respond(request).status == 401, "\(forged)")
    }
    #expect(try scene.get("session")["operator"] == .null)
    #expect(try entries().isEmpty)
    #expect(try RestClient(anna).get("/v1/tables/lists").status == 200)
  }

  @Test("an operator who is in one node's file alone acts there, and not on the other node (I10)")
  func otherFile() throws {
    let bob = String(repeating: "b", count: 32)
    let both = "ada \(ConsoleScene.actor)\nbob \(bob)\n"
    let one = try ConsoleScene(operators: both, on: server, node: "one")
    let other = try ConsoleScene(operators: "bob \(bob)\n", on: server, node: "other")
    func status(_ scene: ConsoleScene, _ cookie: String, _ method: String, _ path: String) throws -> Int {
      let body = method == "POST" ? revoke(anna.id) : ""
      let fields = ConsoleScene.mark + [("Cookie", cookie)]
      return try scene.respond(ConsoleScene.request(method, "api/\(path)", fields, body: body)).status
    }
    let (ofAda, ofBob) = (try one.signIn(ConsoleScene.actor), try one.signIn(bob))
    // Her session is not even one that reads there, and her token begins none.
    for (method, path) in [("POST", "actions"), ("GET", "users"), ("GET", "session")] {
      #expect(try status(other, ofAda, method, path) == 401, "\(path)")
    }
    let begin = ConsoleScene.request(
      "POST", "api/session", ConsoleScene.mark, body: "{\"token\": \"\(ConsoleScene.actor)\"}")
    #expect(try other.respond(begin).status == 401)
    #expect(try RestClient(anna).get("/v1/tables/lists").status == 200)
    #expect(try entries().isEmpty)
    #expect(try status(other, ofBob, "POST", "actions") == 200)
    #expect(try status(one, ofAda, "POST", "actions") == 200)
    let written = try entries().map { [$0["operator"], $0["node"]] }
    #expect(Set(written) == [["bob", "other"], ["ada", "one"]])
  }

  @Test(
    "a node that restarts with another file ends the sessions of who lost the line, or has another token (I10)"
  )
  func changedFile() throws {
    let (bob, carol) = (String(repeating: "b", count: 32), String(repeating: "c", count: 32))
    let before = try ConsoleScene(
      operators: "ada \(ConsoleScene.actor)\nbob \(bob)\ncarol \(carol)\n", on: server)
    let cookies = try [ConsoleScene.actor, bob, carol].map { try before.signIn($0) }
    let after = try ConsoleScene(operators: "bob \(bob)2\ncarol \(carol)\n", on: server)
    let statuses = try cookies.map { cookie in
      try after.respond(
        ConsoleScene.request(
          "POST", "api/actions", ConsoleScene.mark + [("Cookie", cookie)], body: revoke(anna.id))
      ).status
    }
    #expect(statuses == [401, 401, 200])
    // A name that goes to somebody else does not bring the old session back.
    let again = try ConsoleScene(operators: "ada \(ConsoleScene.actor)2\n", on: server)
    let fields = ConsoleScene.mark + [("Cookie", cookies[0])]
    #expect(try again.respond(ConsoleScene.request("GET", "api/session", fields)).status == 401)
  }

  @Test("pages of other sites do not act with an operator's cookie (I10)")
  func foreign() throws {
    let cookie = [("Cookie", try scene.signIn(ConsoleScene.actor))]
    let requests: [[(String, String)]] = [
      cookie, ConsoleScene.mark + cookie + [("Origin", "https://evil.example.org")],
      ConsoleScene.mark + cookie + [("Sec-Fetch-Site", "same-site")],
    ]
    for fields in requests {
      let request = ConsoleScene.request("POST", "api/actions", fields, body: revoke(anna.id))
      #expect(try scene.respond(request).status == 401)
    }
    let form = ConsoleScene.mark + cookie + [("Content-Type", "text/plain")]
    #expect(try scene.respond(ConsoleScene.request("POST", "api/actions", form)).status == 415)
    #expect(try entries().isEmpty)
  }

  @Test(
    "what is no action is refused, and nothing is written",
    arguments: [
      ("{}", 400), ("[]", 400), ("{", 400), ("{\"action\": \"revoke\"}", 400),
      ("{\"action\": \"revoke\", \"device\": \"none\"}", 404),
      ("{\"action\": \"revoke\", \"device\": \"a\\u0000\"}", 400),
      ("{\"action\": \"revoke\", \"device\": \"x\", \"zone\": \"y\"}", 400),
      ("{\"action\": \"erase\", \"user\": \"anna\"}", 400),
      ("{\"action\": \"revoke\", \"device\": 1}", 400),
      ("{\"action\": \"grant\", \"zone\": \"none\", \"user\": \"anna\"}", 404),
      ("{\"action\": \"refuse\", \"zone\": \"none\", \"user\": \"\\u202Eanna<b>\"}", 404),
    ])
  func wrong(body: String, status: Int) throws {
    #expect(try scene.post("actions", body).status == status)
    #expect(try entries().isEmpty)
  }

  @Test("an action whose entry cannot be written is not done")
  func atomic() throws {
    try server.change(
      sqlite:
        "CREATE TRIGGER no_audit BEFORE INSERT ON holdfast_audit BEGIN SELECT RAISE(ABORT, 'no'); END",
      postgres: "ALTER TABLE holdfast.audit ADD CONSTRAINT no_audit CHECK (false)")
    #expect(try scene.post("actions", revoke(anna.id)).status >= 400)
    #expect(try RestClient(anna).get("/v1/tables/lists").status == 200)
  }

  @Test("the command line's actions are in the log too, the newest first, under ids alone")
  func commandLine() throws {
    let administration = try Administration(server.location, environment: server.world.environment)
    _ = try administration.createToken(name: "robot", role: .viewer, tables: nil, zones: nil)
    _ = try server.signUp("bob")
    server.world.advance(1000)
    try administration.grant(zone: list, name: "bob", role: .editor)
    server.world.advance(1000)
    try administration.noteBackup("a.backup", detail: "Verified.")
    let listing = try administration.audit()
    #expect(listing.rows.map { $0[1] } == ["backup", "member", "token"])
    #expect(listing.rows[1][2] == list)
    #expect(listing.rows.allSatisfy { row in !row.contains { $0.contains("bob") || $0.contains("robot") } })
    #expect(listing.rows.allSatisfy { $0[4].hasPrefix("command line (") && $0[6].isEmpty })
    #expect(try administration.audit(limit: 1).rows.count == 1)
    let backups = try #require(scene.get("backups")["entries"]?.elements)
    #expect(backups.map { $0["target"] } == ["a.backup"])
  }

  @Test("the audit log is bounded by age (I11)")
  func bounded() throws {
    let administration = try Administration(server.location, environment: server.world.environment)
    try administration.noteBackup("old")
    server.world.advance(AuditEntry.life + 1)
    // The server sees that the time has gone by, and no clock has jumped.
    try server.inline?.purge()
    try administration.noteBackup("new")
    #expect(try administration.audit().rows.map { $0[2] } == ["new"])
  }

  @Test(
    "a file of operators' tokens that is none is refused at the start",
    arguments: [
      "", "ada", "ada short", "ada \(ConsoleScene.actor) more", "a.b \(ConsoleScene.actor)",
      "ada \(ConsoleScene.actor)\nbob \(ConsoleScene.actor)", "ada \(ConsoleScene.token)",
      "ada \(ConsoleScene.actor)\nada \(ConsoleScene.actor)2",
    ])
  func file(text: String) {
    #expect(throws: ServerError.self) {
      try ConsoleConfiguration(token: Array(ConsoleScene.token.utf8), actions: Array(text.utf8))
    }
  }

  @Test("a schema is compared, and nothing is changed")
  func schema() throws {
    let same = try String(decoding: TestServer.schema().json.bytes, as: UTF8.self)
    let none = try scene.post("schema", same, as: ConsoleScene.token)
    #expect(try JSONValue(parsing: none.body)["verdict"] == "none")
    let table = "{\"zone\": \"root\", \"columns\": {\"a\": {\"type\": \"text\"}}}"
    let other = try
      "{\"holdfast\": 1, \"name\": \"\(TestServer.schema().name)\", \"tables\": {\"x\": \(table)}}"
    #expect(try JSONValue(parsing: scene.post("schema", other).body)["verdict"] == "removes")
    #expect(try scene.post("schema", "{\"holdfast\": 9}").status == 400)
    #expect(try scene.get("schema")["text"]?.stringValue?.isEmpty == false)
    #expect(try entries().isEmpty)
    let head = ConsoleScene.request("POST", "api/schema", ConsoleScene.mark)
    #expect(scene.console.bodyLimit(of: head) == Console.bodyLimit)
  }

  @Test("the doctor runs once at a time, and says what it found")
  func doctor() async throws {
    let doctor = scene.console.doctor
    defer { doctor.stop() }
    #expect(doctor.json["state"] == "never")
    #expect(try scene.post("doctor", "", as: ConsoleScene.token).status == 202)
    #expect(try scene.post("doctor", "").status == 202)
    await waitUntil { doctor.json["state"] != "running" }
    #expect(doctor.json["state"] == "done" && doctor.json["count"] == 0, "\(doctor.json)")
  }
}
