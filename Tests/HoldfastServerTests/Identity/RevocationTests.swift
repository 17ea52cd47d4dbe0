import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// Every way to get a token, with every way to revoke it: docs/IDENTITY.md, section 3.
@Suite("Revocation")
struct RevocationTests {
  /// A way to get a token.
  enum Way: String, CaseIterable {
    /// Of a user with a password.
    case signUp, signIn, continued, copy, overProgram
    /// Of a user of the identity provider: sessions, also of who names the device of the JWTs, and the JWT itself.
    case provider, providerContinued, providerCopy, overJWTs, overRevokedJWTs, jwt
    /// Of a user of its own.
    case serviceToken

    var hasPassword: Bool { [.signUp, .signIn, .continued, .copy, .overProgram].contains(self) }
    var isSession: Bool { self != .jwt && self != .serviceToken }
  }

  /// A way to revoke a token.
  enum End: String, CaseIterable {
    /// Another device of the user revokes it, ends all other sessions, or changes the password.
    case device, others, password
    /// The device itself signs out, or somebody signs in on it.
    case signOut, nextSession
    case operatorRevokes, operatorSetsPassword
    case erased, operatorErases

    func ends(_ way: Way) -> Bool {
      switch self {
      case .device, .others, .erased: way != .serviceToken
      case .signOut, .nextSession: way.isSession
      case .password, .operatorSetsPassword: way.hasPassword
      case .operatorRevokes, .operatorErases: true
      }
    }
  }

  /// A user with a token that is to be revoked.
  private struct Holder {
    let name: String
    /// Another session of the user; the token itself for a program.
    let keeper: String
    let token: String
    let device: String
    let list: String
    var ticket: String?
  }

  private let provider = TestProvider()
  private let server: TestServer

  init() throws { server = try TestServer(provider: provider.configuration) }

  private var administration: Administration {
    get throws { try Administration(server.location, environment: server.world.environment) }
  }

  private func jwt(_ subject: String) -> String {
    provider.token(TestProvider.claims(subject, at: server.world.now, [.init("azp", "reporter")]))
  }

  private func signIn(_ name: String, isByPassword: Bool, device: String? = nil) throws -> ReadAnswer {
    var members: [JSONValue.Member] = [.init("name", "phone")]
    if let device { members.append(.init("id", .string(device))) }
    let proof: JSONValue =
      isByPassword
      ? ["name": .string(name), "password": "correct horse", "device": .object(members)]
      : ["token": .string(jwt(name)), "device": .object(members)]
    return try server.send("POST", "/v1/sessions", proof)
  }

  private func devices(_ token: String) throws -> [JSONValue] {
    try server.send("GET", "/v1/devices", token: token).body["devices"]?.elements ?? []
  }

  private func hasSession(_ device: String, _ keeper: String) throws -> Bool? {
    try devices(keeper).first { $0["id"] == .string(device) }?["has_session"]?.boolValue
  }

  /// The id of the device of the JWTs.
  private func deviceOfJWTs(_ keeper: String) throws -> String {
    try #require(devices(keeper).first { $0["name"] == "reporter" }?["id"]?.stringValue)
  }

  private func holder(of way: Way, _ name: String) throws -> Holder {
    if way == .serviceToken {
      let token = try administration.createToken(name: name, role: .editor, tables: nil, zones: nil)
      let id = try #require(administration.tokens().rows.first { $0[1] == name }?[0])
      return try finish(Holder(name: name, keeper: token, token: token, device: id, list: ""))
    }
    let first = way.hasPassword ? try server.signUp(name) : nil
    let opened = try signIn(name, isByPassword: way.hasPassword).body
    let keeper = try #require(opened["token"]?.stringValue)
    let user = try #require(opened["user"]?["name"]?.stringValue)
    if !way.hasPassword {
      try #require(try server.send("GET", "/v1/zones", token: jwt(name)).status == 200)
    }
    let session: JSONValue
    switch way {
    case .signUp:
      session = ["token": .string(first?.token ?? ""), "device": ["id": .string(first?.id ?? "")]]
    case .signIn, .provider: session = try signIn(name, isByPassword: way.hasPassword).body
    case .continued, .providerContinued:
      let id = try signIn(name, isByPassword: way.hasPassword).body["device"]?["id"]?.stringValue
      session = try signIn(name, isByPassword: way.hasPassword, device: id).body
      #expect(session["device"]?["id"]?.stringValue == id)
    case .copy, .providerCopy:
      session = try server.send("POST", "/v1/devices", ["name": "copy"], token: keeper).body
    case .overProgram:
      _ = try administration.createToken(name: "p-\(name)", role: .viewer, tables: nil, zones: nil)
      let id = try administration.tokens().rows.first { $0[1] == "p-\(name)" }?[0]
      session = try signIn(name, isByPassword: true, device: id).body
      #expect(session["device"]?["id"]?.stringValue != id)
    case .overJWTs, .overRevokedJWTs:
      let id = try deviceOfJWTs(keeper)
      if way == .overRevokedJWTs {
        try server.send("DELETE", "/v1/devices/\(id)", token: keeper)
        server.world.advance(1000)
      }
      session = try signIn(name, isByPassword: false, device: id).body
      #expect(session["device"]?["id"]?.stringValue != id)
    case .jwt: session = ["token": .string(jwt(name)), "device": ["id": .string(try deviceOfJWTs(keeper))]]
    case .serviceToken: session = [:]
    }
    return try finish(
      Holder(
        name: user, keeper: keeper, token: try #require(session["token"]?.stringValue),
        device: try #require(session["device"]?["id"]?.stringValue), list: ""))
  }

  /// Makes a list, and asks for a ticket.
  private func finish(_ holder: Holder) throws -> Holder {
    let list = try server.send(
      "POST", "/v1/tables/lists", ["columns": ["title": "Mine"]], token: holder.token)
    let ticket = try server.send("POST", "/v1/events/tickets", token: holder.token)
    return Holder(
      name: holder.name, keeper: holder.keeper, token: holder.token, device: holder.device,
      list: list.body["id"]?.stringValue ?? "", ticket: ticket.body["ticket"]?.stringValue)
  }

  private func revoke(_ holder: Holder, _ way: Way, by end: End, subject: String) throws {
    func done(_ method: String, _ path: String, _ body: JSONValue? = nil, by token: String) throws {
      let answer = try server.send(method, path, body, token: token)
      #expect(answer.status == 204, "\(way) \(end)")
    }
    switch end {
    case .device: try done("DELETE", "/v1/devices/\(holder.device)", by: holder.keeper)
    case .others: try done("DELETE", "/v1/sessions", by: holder.keeper)
    case .signOut: try done("DELETE", "/v1/sessions/current", by: holder.token)
    case .nextSession:
      let next = try signIn(subject, isByPassword: way.hasPassword, device: holder.device).body
      #expect(next["device"]?["id"] == .string(holder.device))
    case .password:
      let change: JSONValue = ["old": "correct horse", "new": "battery staple"]
      try done("PUT", "/v1/account/password", change, by: holder.keeper)
    case .operatorRevokes: try administration.revoke(device: holder.device)
    case .operatorSetsPassword: try administration.setPassword("battery staple", ofUser: holder.name)
    case .erased:
      let body: JSONValue = way.hasPassword ? ["password": "correct horse"] : [:]
      try done("DELETE", "/v1/account", body, by: holder.keeper)
    case .operatorErases: _ = try administration.erase(holder.name)
    }
  }

  /// The requests that take the token, each in words; empty when it is revoked.
  private func uses(of holder: Holder) throws -> [String] {
    let device: JSONValue = ["name": "x"]
    let own: JSONValue = ["name": "x", "id": .string(holder.device)]
    let requests: [(String, String, JSONValue?)] = [
      ("POST", "/v1/sessions", ["token": .string(holder.token), "device": device]),
      ("POST", "/v1/sessions", ["token": .string(holder.token), "device": own]),
      ("GET", "/v1/zones", nil), ("GET", "/v1/tables/lists", nil),
      ("GET", "/v1/tables/lists/\(holder.list)", nil),
      ("POST", "/v1/tables/lists", ["columns": ["title": "Late"]]), ("POST", "/v1/sync", ["protocol": 1]),
      ("POST", "/v1/events/tickets", nil), ("POST", "/v1/devices", device), ("GET", "/v1/devices", nil),
      ("PUT", "/v1/push-token", ["kind": "apns", "token": "t"]), ("GET", "/v1/account/export", nil),
      ("DELETE", "/v1/sessions", nil),
    ]
    var taken: [String] = []
    for (method, path, body) in requests {
      let answer = try server.send(method, path, body, token: holder.token)
      // A session's token is no JWT, and is refused as one: 401.
      if answer.status != 401 { taken.append("\(method) \(path): \(answer.status)") }
    }
    let inline = try #require(server.inline)
    let follows = TestServer.request("GET", "/v1/events", [], token: holder.token)
    if case .success = inline.open(follows, stream: 7) { taken.append("a stream") }
    if let ticket = holder.ticket,
      case .success = inline.open(HTTPRequest(target: "/v1/events?ticket=\(ticket)"), stream: 8)
    {
      taken.append("a ticket")
    }
    return taken
  }

  @Test(
    "whichever way a token was got, each way to revoke it ends it for good (I10)", arguments: Way.allCases)
  func revoked(way: Way) throws {
    var revoked: [(String, Holder)] = []
    for (index, end) in End.allCases.enumerated() where end.ends(way) {
      let subject = "u\(index)"
      let holder = try holder(of: way, subject)
      #expect(try server.send("GET", "/v1/zones", token: holder.token).status == 200, "\(way) \(end)")
      #expect((holder.ticket != nil) == (way != .jwt))
      if way != .serviceToken { #expect(try hasSession(holder.device, holder.keeper) == way.isSession) }
      try revoke(holder, way, by: end, subject: subject)
      if way == .jwt, [.erased, .operatorErases].contains(end) {
        // The same person is a new user, who has nothing of the first.
        _ = try server.send("GET", "/v1/zones", token: holder.token)
        #expect(try server.send("GET", "/v1/tables/lists/\(holder.list)", token: holder.token).status == 404)
        continue
      }
      #expect(try uses(of: holder) == [], "\(way) \(end)")
      if [.device, .others, .signOut, .operatorRevokes, .password].contains(end), way != .serviceToken {
        #expect(try hasSession(holder.device, holder.keeper) == false, "\(way) \(end)")
      }
      revoked.append(("\(way) \(end)", holder))
    }
    try server.reopen()
    for (name, holder) in revoked { #expect(try uses(of: holder) == [], "\(name), after a restart") }
    #expect(try server.findings().isEmpty)
  }

  @Test("a revoked JWT begins no session; newer ones do, and those of another client (I10)")
  func sessions() throws {
    let keeper = try #require(try signIn("s-1", isByPassword: false).body["token"]?.stringValue)
    let old = jwt("s-1")
    #expect(try server.send("GET", "/v1/zones", token: old).status == 200)
    let id = try deviceOfJWTs(keeper)
    try server.send("DELETE", "/v1/devices/\(id)", token: keeper)
    func begin(_ token: String, _ device: JSONValue) throws -> ReadAnswer {
      try server.send("POST", "/v1/sessions", ["token": .string(token), "device": device])
    }
    for device in [["name": "x"], ["name": "x", "id": .string(id)]] as [JSONValue] {
      #expect(try begin(old, device).code == "token-invalid")
      // It is not revived either.
      #expect(try server.send("GET", "/v1/zones", token: old).status == 401)
    }
    #expect(try devices(keeper).count == 2)
    let other = provider.token(TestProvider.claims("s-1", at: server.world.now, [.init("azp", "other")]))
    #expect(try begin(other, ["name": "x"]).status == 200)
    server.world.advance(1000)
    #expect(try begin(jwt("s-1"), ["name": "x"]).status == 200)
    let without: [JSONValue.Member] = [.init("azp", "reporter"), .init("iat", .null)]
    let undated = provider.token(TestProvider.claims("s-1", at: server.world.now, without))
    #expect(try begin(undated, ["name": "x"]).status == 401)
  }

  @Test("the device of a JWT takes no token of a session, whatever the database has (I10)")
  func mixed() throws {
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    let change = "issued_after = 1 WHERE id = '\(alice.id)'"
    try server.change(
      sqlite: "UPDATE holdfast_devices SET \(change)", postgres: "UPDATE holdfast.devices SET \(change)")
    try server.reopen()
    let holder = Holder(name: "alice", keeper: "", token: alice.token, device: alice.id, list: list)
    #expect(try uses(of: holder) == [])
  }

  @Test("the console and the operator's list know the device of a JWT for a program")
  func listed() throws {
    let keeper = try #require(try signIn("s-1", isByPassword: false).body["token"]?.stringValue)
    #expect(try server.send("GET", "/v1/zones", token: jwt("s-1")).status == 200)
    let id = try deviceOfJWTs(keeper)
    let rows = try administration.devices().rows
    #expect(rows.count == 2)
    for row in rows { #expect(row[3] == (row[0] == id ? "no" : "yes")) }
    let inline = try #require(server.inline)
    let found = try inline.api.database.readConsole { try $0.rows(.device(id)) }
    let device = try #require(found.first.map { ConsoleDevice($0, UserLimits(), at: server.world.now) })
    #expect(device.session == .program)
  }
}
