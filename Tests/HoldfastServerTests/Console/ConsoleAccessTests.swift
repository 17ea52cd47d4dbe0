import Foundation
import FoundationNetworking
import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// Who gets into the console, and what can be asked there.
@Suite("Access to the console") struct ConsoleAccessTests {
  private static let addresses = [
    "server", "attention", "log", "users", "devices", "devices/x", "zones", "zones/x", "records/x",
    "conflicts",
    "refusals", "recovery", "charts", "audit", "backups", "schema", "retention", "doctor",
  ]

  @Test("an escaped path of the console is the console's, whatever the folder of the web app has (I10)")
  func escaped() throws {
    func takes(_ target: String) -> Bool { Console.takes(HTTPRequest(target: target)) }
    for target in [
      "/console", "/console/", "/console/x.txt", "/%63onsole/x.txt", "/c%6Fnsole", "/console/%zz",
    ] {
      #expect(takes(target), "\(target)")
    }
    for target in ["/", "/consoles", "/x/console", "/%2563onsole/", "/v1/%63onsole", "/console%2Fx", "*"] {
      #expect(!takes(target), "\(target)")
    }
  }

  @Test("without the token nothing is read, at any address (I10)", arguments: addresses)
  func withoutToken(address: String) throws {
    let scene = try ConsoleScene()
    let anna = try scene.server.signUp("anna")
    let cookie = try scene.signIn()
    let name = ConsoleSession.cookie
    let (end, code) = (String(cookie.dropFirst(name.utf8.count + 1).prefix { $0 != "." }), cookie.suffix(64))
    let key = String(repeating: "o", count: 32)
    let other = try ConsoleScene(token: key).signIn(key)
    let requests: [[(String, String)]] = [
      [], ConsoleScene.mark, [("Cookie", cookie)],
      ConsoleScene.mark + [("Authorization", "Bearer \(ConsoleScene.token)")],
      ConsoleScene.mark + [("Authorization", "Bearer \(anna.token)")],
      ConsoleScene.mark + [("Cookie", "\(name)=\(anna.token)")], ConsoleScene.mark + [("Cookie", other)],
      ConsoleScene.mark + [("Cookie", "\(name)=")], ConsoleScene.mark + [("Cookie", "\(name)=..")],
      ConsoleScene.mark + [("Cookie", "\(name)=9\(end).x.\(code)")],
      ConsoleScene.mark + [("Cookie", String(cookie.dropLast()) + "!")],
      ConsoleScene.mark + [("Cookie", cookie), ("Origin", "https://evil.example.org")],
      ConsoleScene.mark + [("Cookie", cookie), ("Sec-Fetch-Site", "cross-site")],
    ]
    for fields in requests {
      let answer = try scene.respond(ConsoleScene.request("GET", "api/\(address)", fields))
      #expect(answer.status == 401, "\(fields)")
    }
  }

  @Test("a session ends after an hour, and is in a cookie that scripts cannot read")
  func session() throws {
    let scene = try ConsoleScene()
    let answer = try scene.respond(
      ConsoleScene.request(
        "POST", "api/session",
        ConsoleScene.mark + [("Origin", "https://a.example.org"), ("Host", "a.example.org")],
        body: "{\"token\": \"\(ConsoleScene.token)\"}"))
    let field = try #require(answer.headers.first { $0.name == "Set-Cookie" }).value
    for part in ["Path=/console", "HttpOnly", "SameSite=Strict", "Secure", "Max-Age=3600"] {
      #expect(field.contains(part), "\(part)")
    }
    #expect(!field.contains(ConsoleScene.token))
    let fields = ConsoleScene.mark + [("Cookie", String(field.prefix { $0 != ";" }))]
    func status() throws -> Int { try scene.respond(ConsoleScene.request("GET", "api/users", fields)).status }
    scene.server.world.advance(3_599_000)
    #expect(try status() == 200)
    let end = try scene.respond(ConsoleScene.request("DELETE", "api/session", fields))
    #expect(end.headers.contains { $0.name == "Set-Cookie" && $0.value.contains("Max-Age=0") })
    scene.server.world.advance(1_000)
    #expect(try status() == 401)
  }

  @Test("another node with the same token takes the session")
  func nodes() throws {
    let (one, other) = (try ConsoleScene(), try ConsoleScene())
    let fields = try ConsoleScene.mark + [("Cookie", one.signIn())]
    #expect(try other.respond(ConsoleScene.request("GET", "api/users", fields)).status == 200)
  }

  @Test("wrong tokens are counted, and have to wait like wrong passwords (I10)")
  func guesses() throws {
    let scene = try ConsoleScene()
    func status(_ token: String) throws -> Int {
      try scene.respond(
        ConsoleScene.request("POST", "api/session", ConsoleScene.mark, body: "{\"token\": \"\(token)\"}")
      ).status
    }
    for _ in 0..<Guesses.defaultLimit { #expect(try status("wrong") == 401) }
    #expect(try status(ConsoleScene.token) == 429)
    scene.server.world.advance(GuessCount.waits.first)
    #expect(try status(ConsoleScene.token) == 204)
  }

  @Test("other sites' pages cannot sign in", arguments: [[], [("Origin", "https://evil.example.org")]])
  func foreign(fields: [(String, String)]) throws {
    let scene = try ConsoleScene()
    let marked = fields.isEmpty ? [] : ConsoleScene.mark + fields
    let answer = try scene.respond(
      ConsoleScene.request("POST", "api/session", marked, body: "{\"token\": \"\(ConsoleScene.token)\"}"))
    #expect(answer.status == 401)
  }

  @Test("there is nothing to write at any address that is read", arguments: addresses)
  func readingOnly(address: String) throws {
    let scene = try ConsoleScene()
    let fields = try ConsoleScene.mark + [("Cookie", scene.signIn())]
    let reads = ["schema", "doctor"].contains(address) ? [] : ["POST"]
    for method in reads + ["PUT", "PATCH", "DELETE", "OPTIONS"] {
      #expect(try scene.respond(ConsoleScene.request(method, "api/\(address)", fields)).status == 405)
    }
  }

  @Test(
    "what cannot be asked is refused with a reason",
    arguments: [
      ("users?search=" + String(repeating: "x", count: 257), 400), ("users?search=a%00", 400),
      ("users?limit=1", 400), ("devices?after=-1", 400), ("devices?after=x", 400), ("refusals?after=1", 400),
      ("refusals?after=1.x", 400), ("refusals?after=99999999999999999999.1", 400), ("users?after=%zz", 400),
      ("records/a%00", 400), ("none", 404), ("devices/none", 404), ("zones/none", 404),
      ("records/a?device=none", 404),
      ("users/a/b", 404), ("", 404), ("charts?range=year", 400), ("charts?node=other", 200),
      ("records/none", 200), ("users?search='%20OR%201=1", 200),
    ])
  func limits(path: String, status: Int) throws {
    #expect(try ConsoleScene().status(path) == status)
  }

  @Test("a token is of 32 bytes at least")
  func shortToken() {
    #expect(throws: ServerError.self) { try ConsoleConfiguration(token: Array("short".utf8)) }
    #expect(throws: ServerError.self) { try ConsoleConfiguration(token: [UInt8](repeating: 1, count: 1025)) }
  }

  @Test("the program has the page as it is in clients/console, and no other site may frame it")
  func files() throws {
    let scene = try ConsoleScene()
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../../clients/console").standardized
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(TextSet(ConsoleFiles.files.map(\.key)) == TextSet(names))
    for name in names {
      let answer = try scene.respond(ConsoleScene.request("GET", name, []))
      #expect(try answer.body == [UInt8](Data(contentsOf: folder.appendingPathComponent(name))), "\(name)")
      let policy = try #require(answer.headers.first { $0.name == "Content-Security-Policy" }).value
      #expect(policy.contains("frame-ancestors 'none'") && policy.contains("script-src 'self';"))
      #expect(!policy.contains("unsafe"))
    }
    #expect(try scene.respond(ConsoleScene.request("GET", "", [])).status == 200)
    #expect(try scene.respond(ConsoleScene.request("GET", "../v1/schema", [])).status == 404)
    #expect(try scene.respond(ConsoleScene.request("POST", "console.js", [])).status == 405)
  }

  @Test("a server without --console has no console")
  func off() throws {
    let server = try TestServer()
    #expect(try server.respond(to: ConsoleScene.request("GET", "", [])).status == 404)
    #expect(try server.respond(to: ConsoleScene.request("GET", "api/users", ConsoleScene.mark)).status == 404)
  }

  @Test("a running server shows its figures and its log, and lends them to no other origin (I10)")
  func running() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "holdfast-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    var configuration = Configuration(
      schema: try TestServer.schema(), database: try Engine.used.makeLocation(in: folder), log: { _ in })
    configuration.console = try ConsoleConfiguration(token: Array(ConsoleScene.token.utf8))
    configuration.allowedOrigins = ["*"]
    let server = try Server(configuration)
    defer { server.stop() }
    func send(
      _ method: String, _ path: String, _ fields: [(String, String)] = ConsoleScene.mark,
      _ body: String? = nil
    ) async throws -> (HTTPURLResponse, JSONValue?) {
      var request = URLRequest(url: try #require(URL(string: "\(server.url)/console/api/\(path)")))
      request.httpMethod = method
      request.httpBody = body.map { Data($0.utf8) }
      request.httpShouldHandleCookies = false
      for (name, value) in fields + [("Content-Type", "application/json")] {
        request.setValue(value, forHTTPHeaderField: name)
      }
      let (data, answer) = try await URLSession.shared.data(for: request)
      return (try #require(answer as? HTTPURLResponse), try? JSONValue(parsing: Array(data)))
    }
    let signIn = try await send(
      "POST", "session", ConsoleScene.mark, "{\"token\": \"\(ConsoleScene.token)\"}"
    ).0
    #expect(signIn.statusCode == 204)
    let cookie = try #require(signIn.value(forHTTPHeaderField: "Set-Cookie")).prefix { $0 != ";" }
    let fields = ConsoleScene.mark + [("Cookie", String(cookie))]
    let state = try #require(try await send("GET", "server", fields).1)
    #expect(state["engine"] == .string(Engine.used == .sqlite ? "SQLite" : "PostgreSQL"))
    #expect(state["version"] == .string(Release.version))
    #expect(state["requests"]?["count"]?.integerValue ?? 0 > 0)
    #expect(state["process"]?["resident_bytes"]?.integerValue ?? 0 > 0)
    let lines = try #require(try await send("GET", "log", fields).1?["lines"]?.elements)
    #expect(lines.contains { $0["event"] == "start" } && lines.contains { $0["event"] == "console" })
    let foreign = try await send("GET", "server", fields + [("Origin", "https://evil.example.org")]).0
    #expect(foreign.statusCode == 401)
    #expect(foreign.value(forHTTPHeaderField: "Access-Control-Allow-Origin") == nil)
    let large = String(repeating: " ", count: Console.bodyLimit + 1)
    #expect(try await send("POST", "session", ConsoleScene.mark, large).0.statusCode == 413)
  }
}
