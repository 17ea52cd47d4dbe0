import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer

/// People and programs of an identity provider: docs/IDENTITY.md, section 5.
@Suite struct JWTTests {
  let provider = TestProvider()
  let server: TestServer

  init() throws { server = try TestServer(provider: provider.configuration) }

  private func claims(_ subject: String = "s-1", _ more: [JSONValue.Member] = []) -> JSONValue {
    TestProvider.claims(subject, at: server.world.now, more)
  }

  private func signIn(_ token: String, device: JSONValue = ["name": "phone"]) throws -> ReadAnswer {
    try server.send("POST", "/v1/sessions", ["token": .string(token), "device": device])
  }

  private func zones(_ token: String) throws -> ReadAnswer {
    try server.send("GET", "/v1/zones", token: token)
  }

  @Test("a subject is one user for ever, whoever else has the name, and the session is an ordinary one")
  func subject() throws {
    _ = try server.signUp("alice")
    let named: [JSONValue.Member] = [.init("preferred_username", "Alice@example.org")]
    let first = try signIn(provider.token(claims("s-1", named)))
    #expect(first.status == 200)
    #expect(first.body["user"]?["name"] == "alice-2")
    let phone = try TestDevice(server, first.body)
    let list = try phone.makeList()
    let again = try signIn(
      provider.token(claims("s-1")), device: ["name": "phone", "id": .string(phone.id), "session": 1])
    #expect(again.body["user"]?["id"] == .string(phone.user))
    #expect(again.body["device"]?["id"] == .string(phone.id))
    let same = try TestDevice(server, again.body)
    try same.pull()
    #expect(same.has("lists", list))
    let other = try signIn(provider.token(claims("s-2", named)))
    #expect(other.body["user"]?["name"] == "alice-3")
    #expect(try server.tryPassword("", of: "alice-2").code == "credentials-wrong")
    #expect(try server.tryPassword("correct horse", of: "alice-2").code == "credentials-wrong")
    #expect(try server.findings().isEmpty)
  }

  @Test("a program sends the JWT itself: one device for each client, whose repeats are known (I1)")
  func bearer() throws {
    let token = provider.token(claims("s-1", [.init("azp", "reporter")]))
    #expect(try zones(token).status == 200)
    let later = provider.token(claims("s-1", [.init("azp", "reporter"), .init("jti", "2")]))
    func create(_ token: String) throws -> ReadAnswer {
      var request = TestServer.request(
        "POST", "/v1/tables/lists", (["columns": ["title": "Report"]] as JSONValue).bytes, token: token)
      request.headers.append(name: "Idempotency-Key", value: "r1")
      return ReadAnswer(response: try server.respond(to: request))
    }
    let made = try create(token)
    #expect(made.status == 201)
    let replay = try create(later)
    #expect(replay.body == made.body)
    #expect(replay.header("Idempotency-Replayed") == "true")
    let other = provider.token(claims("s-1", [.init("client_id", "other")]))
    #expect(try create(other).header("Idempotency-Replayed") == nil)
    let session = try signIn(provider.token(claims("s-1")))
    let devices = try server.send("GET", "/v1/devices", token: session.body["token"]?.stringValue)
    let names = devices.body["devices"]?.elements?.compactMap { $0["name"]?.stringValue } ?? []
    #expect(TextSet(names) == ["reporter", "other", "phone"])
  }

  @Test("sync, streams, devices and passwords take a session, not a JWT (I10)")
  func limited() throws {
    let token = provider.token(claims())
    #expect(try zones(token).status == 200)
    #expect(try server.send("POST", "/v1/sync", ["protocol": 1], token: token).code == "token-limited")
    #expect(try server.send("GET", "/v1/events", token: token).code == "token-limited")
    #expect(try server.send("POST", "/v1/devices", ["name": "x"], token: token).code == "token-limited")
    #expect(try server.send("DELETE", "/v1/sessions", token: token).code == "token-limited")
    #expect(try server.send("GET", "/v1/devices", token: token).code == "token-limited")
  }

  @Test(
    "JWTs that were issued before their device was revoked are dead, in the writer's queue too; newer ones are good"
  )
  func revoked() throws {
    let token = provider.token(claims())
    #expect(try zones(token).status == 200)
    let session = try TestDevice(server, try signIn(token).body)
    let devices = try session.get("/v1/devices").body["devices"]?.elements ?? []
    let id = try #require(devices.first { $0["name"] == "jwt" }?["id"]?.stringValue)
    let inline = try #require(server.inline)
    let answers = inline.respond(to: [
      TestServer.request("DELETE", "/v1/devices/\(id)", [], token: session.token),
      TestServer.request(
        "POST", "/v1/tables/lists", (["columns": ["title": "Late"]] as JSONValue).bytes, token: token),
    ])
    #expect(answers.map(\.status) == [204, 401])
    #expect(try zones(token).status == 401)
    server.world.advance(1000)
    #expect(try zones(provider.token(claims("s-1", [.init("iat", .null)]))).status == 401)
    #expect(try zones(provider.token(claims())).status == 200)
    #expect(try session.get("/v1/zones").status == 200)
  }

  @Test("what is not signed, of this issuer, for this audience and of this time is refused (I10)")
  func refused() throws {
    let now = server.world.now / 1000
    let wrong: [(String, [JSONValue.Member])] = [
      ("exp", [.init("exp", .integer(now - 60))]), ("no exp", [.init("exp", .null)]),
      ("text", [.init("exp", "4102444800")]), ("nbf", [.init("nbf", .integer(now + 61))]),
      ("iat", [.init("iat", .integer(now + 61))]), ("far iat", [.init("iat", .real(1e300))]),
      ("iss", [.init("iss", "https://evil.example.org")]), ("aud", [.init("aud", "others")]),
      ("audiences", [.init("aud", ["others", "more"])]), ("no aud", [.init("aud", .null)]),
      ("sub", [.init("sub", .null)]), ("empty", [.init("sub", "")]),
      ("long", [.init("sub", .string(String(repeating: "s", count: 256)))]),
      ("huge", [.init("x", .string(String(repeating: "s", count: 9000)))]),
    ]
    for (name, members) in wrong {
      let answer = try zones(provider.token(claims("s-1", members)))
      #expect(answer.status == 401, "\(name)")
      #expect(answer.code == "token-invalid", "\(name)")
      #expect(try signIn(provider.token(claims("s-1", members))).status == 401, "\(name)")
    }
    let good: [[JSONValue.Member]] = [
      [.init("exp", .integer(now - 59))], [.init("nbf", .integer(now + 60))],
      [.init("aud", ["others", "holdfast"])], [.init("exp", .real(Double(now) + 0.5))],
      [.init("iat", .integer(now + 60))], [.init("iat", .integer(.min))],
    ]
    for members in good { #expect(try zones(provider.token(claims("s-1", members))).status == 200) }
    #expect(try Administration(server.location).users().rows.count == 1)
  }

  @Test(
    "an algorithm that the key is not of, none, a secret key's, duplicates and crit are refused (I10)",
    arguments: [
      #"{"alg":"none","kid":"one"}"#, #"{"alg":"None"}"#, #"{"alg":"HS256","kid":"one"}"#,
      #"{"alg":"RS256","kid":"one"}"#, #"{"alg":"ES256","kid":"one"}"#,
      #"{"alg":"none","alg":"EdDSA","kid":"one"}"#, #"{"alg":"EdDSA","alg":"EdDSA","kid":"one"}"#,
      #"{"alg":"EdDSA","kid":"one","crit":["b64"],"b64":false}"#, #"{"kid":"one"}"#, "[]", "{", "",
      #"{"alg":"EdDSA","kid":1}"#, #"{"alg":"EdDSA","kid":"two"}"#,
    ])
  func headers(_ header: String) throws {
    #expect(try zones(provider.token(claims(), header: header)).status == 401)
  }

  @Test("a token that was changed, cut or written otherwise is refused (I10)")
  func changed() throws {
    let token = provider.token(claims())
    #expect(try zones(token).status == 200)
    let parts = token.split(separator: ".")
    let other = provider.token(claims("s-2")).split(separator: ".")
    let wrong = [
      "\(parts[0]).\(other[1]).\(parts[2])", "\(parts[0]).\(parts[1]).", "\(parts[0]).\(parts[1])",
      ".\(parts[1]).\(parts[2])", token + ".", token + "=", ".", "..", "\(parts[0])=.\(parts[1]).\(parts[2])",
      String(token.dropLast()), token + "A",
    ]
    for text in wrong { #expect(try zones(text).status == 401, "\(text)") }
    let twice =
      #"{"iss":"\#(TestProvider.issuer)","aud":"holdfast","sub":"s-1","sub":"s-2","exp":4102444800}"#
    #expect(try zones(provider.token(text: twice)).status == 401)
  }

  @Test("signatures that others made are verified: RS256 and ES256; small keys and other curves are refused")
  func elsewhere() throws {
    func zones(_ token: String, _ keys: [String]) throws -> Int {
      let provider = TestProvider()
      provider.answer.withLock { $0 = Array("{\"keys\":[\(keys.joined(separator: ","))]}".utf8) }
      let server = try TestServer(provider: provider.configuration)
      return try server.send("GET", "/v1/zones", token: token).status
    }
    let all = [
      SignedElsewhere.rsaKey, SignedElsewhere.p256Key, SignedElsewhere.p384Key, SignedElsewhere.smallRSAKey,
    ]
    #expect(try zones(SignedElsewhere.rsaToken, all) == 200)
    #expect(try zones(SignedElsewhere.p256Token, all) == 200)
    #expect(try zones(SignedElsewhere.p384Token, all) == 401)
    #expect(try zones(SignedElsewhere.smallRSAToken, all) == 401)
    // A key under another's name, and one that is marked for something else.
    let renamed = SignedElsewhere.p256Key.replacing("\"p256\"", with: "\"rsa\"")
    #expect(try zones(SignedElsewhere.rsaToken, [renamed]) == 401)
    let foreign = SignedElsewhere.rsaKey.replacing("\"sig\"", with: "\"enc\"")
    #expect(try zones(SignedElsewhere.rsaToken, [foreign]) == 401)
    let named = SignedElsewhere.rsaKey.replacing("\"use\"", with: "\"alg\": \"PS256\", \"use\"")
    #expect(try zones(SignedElsewhere.rsaToken, [named]) == 401)
    let off = SignedElsewhere.p256Key.replacing("\"y\": \"", with: "\"y\": \"A").replacing(
      "\"}", with: "\" }")
    #expect(try zones(SignedElsewhere.p256Token, [off]) == 401)
  }

  @Test(
    "keys are asked for when one is unknown, not more often than every 30 seconds; the last good ones stay")
  func rotation() throws {
    #expect(try zones(provider.token(claims())).status == 200)
    #expect(provider.questions.withLock { $0 } == 1)
    provider.addKey("two")
    #expect(try zones(provider.token(claims(), key: "two")).status == 401)
    #expect(provider.questions.withLock { $0 } == 1)
    server.world.advance(30_000)
    #expect(try zones(provider.token(claims(), key: "two")).status == 200)
    #expect(try zones(provider.token(claims(), key: "one")).status == 401)
    #expect(provider.questions.withLock { $0 } == 2)
    for broken in [nil, [], Array("{}".utf8), Array("{\"keys\":[{}]}".utf8)] as [[UInt8]?] {
      provider.answer.withLock { $0 = .some(broken) }
      server.world.advance(600_001)
      #expect(try zones(provider.token(claims(), key: "two")).status == 200)
    }
    #expect(provider.questions.withLock { $0 } == 6)
  }

  @Test("while the provider's keys were never had, a JWT is not called wrong: 503, until they are")
  func unreachable() throws {
    provider.answer.withLock { $0 = .some(nil) }
    let answer = try zones(provider.token(claims()))
    #expect(answer.status == 503 && answer.header("Retry-After") != nil)
    provider.answer.withLock { $0 = nil }
    #expect(try zones(provider.token(claims())).status == 503)
    server.world.advance(30_000)
    #expect(try zones(provider.token(claims())).status == 200)
  }

  @Test("a server without a provider takes no JWT")
  func without() throws {
    let server = try TestServer()
    #expect(try server.send("GET", "/v1/zones", token: provider.token(claims())).status == 401)
    let answer = try server.send(
      "POST", "/v1/sessions", ["token": .string(provider.token(claims())), "device": ["name": "x"]])
    #expect(answer.status == 400)
  }

  @Test("names that no account can have are made ones that it can")
  func names() {
    #expect(JWT.accountName("Alice.Smith@example.org") == "alice.smith")
    #expect(JWT.accountName("--") == "user")
    #expect(JWT.accountName("ÄÖÜ") == "user")
    #expect(JWT.accountName(nil) == "user")
    #expect(JWT.accountName("._a b") == "ab")
    #expect(JWT.accountName(String(repeating: "x", count: 100)).count == 40)
  }
}
