import Foundation
import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// What browsers are given: files, and sessions in cookies.
@Suite("Web pages") struct WebTests {
  private func request(
    _ method: String, _ target: String, _ fields: [(String, String)] = [], body: String = ""
  ) -> HTTPRequest {
    var headers = HTTPHeaders()
    for (name, value) in fields { headers.append(name: name, value: value) }
    if !body.isEmpty { headers.append(name: "Content-Type", value: "application/json") }
    return HTTPRequest(method: method, target: target, headers: headers, body: Array(body.utf8))
  }

  private func field(_ name: String, of response: HTTPResponse) -> String? {
    response.headers.first { $0.name == name }?.value
  }

  // MARK: Files

  @Test("the program has the JavaScript client as it is in clients/js")
  func client() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../clients/js").standardized
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent("src").path)
    let paths = ["index.js"] + names.map { "src/\($0)" }
    #expect(Set(WebFiles.client.keys.map { TextKey($0) }) == Set(paths.map { TextKey($0) }))
    for path in paths {
      let bytes = try [UInt8](Data(contentsOf: folder.appendingPathComponent(path)))
      #expect(WebFiles().answer(to: request("GET", "/client/\(path)"))?.body == bytes, "\(path)")
    }
  }

  @Test("a file has its type, a tag and a policy, and is read only")
  func files() throws {
    let server = try TestServer()
    let answer = try server.respond(to: request("GET", "/client/index.js"))
    #expect(answer.status == 200)
    #expect(field("Content-Type", of: answer) == "text/javascript; charset=utf-8")
    #expect(field("Content-Security-Policy", of: answer)?.contains("script-src 'self';") == true)
    let tag = try #require(field("ETag", of: answer))
    #expect(
      try server.respond(to: request("GET", "/client/index.js", [("If-None-Match", tag)])).status == 304)
    #expect(try server.respond(to: request("HEAD", "/client/index.js")).status == 200)
    let other = try server.respond(to: request("POST", "/client/index.js", body: "{}"))
    #expect(other.status == 405)
    #expect(field("Allow", of: other) == "GET, HEAD")
    for path in [
      "/client/", "/client/src", "/client/src/none.js", "/", "/index.html", "/client/../v1/schema",
    ] {
      #expect(try server.respond(to: request("GET", path)).status == 404, "\(path)")
    }
  }

  @Test("a folder is served but for hidden files, and what is outside of it (I10)")
  func folder() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    let app = folder.appendingPathComponent("app")
    try FileManager.default.createDirectory(
      at: app.appendingPathComponent("v1"), withIntermediateDirectories: true)
    for (path, text) in [
      ("app/index.html", "page"), ("app/a b.css", "style"), ("app/.secret", "no"), ("secret", "no"),
      ("app/v1/schema", "no"), ("app/healthz", "no"), ("app/unknown", "bytes"),
    ] {
      try Data(text.utf8).write(to: folder.appendingPathComponent(path))
    }
    let files = WebFiles(folder: app.path)
    func body(_ path: String) -> String? {
      files.answer(to: request("GET", path)).map {
        String(decoding: $0.file?.bytes ?? $0.body, as: UTF8.self)
      }
    }
    #expect(body("/") == "page")
    #expect(body("/index.html?a=b") == "page")
    #expect(body("/a%20b.css") == "style")
    #expect(
      field("Content-Type", of: try #require(files.answer(to: request("GET", "/unknown"))))
        == "application/octet-stream")
    for path in [
      "/.secret", "/%2esecret", "/../secret", "/%2e%2e/secret", "/..%2fsecret", "/v1/schema", "/v1",
      "/healthz",
      "//index.html", "/index.html/", "/none", "/a%00", "*", "/%zz",
    ] {
      #expect(body(path) == nil, "\(path)")
    }
  }

  @Test(
    "a named pipe in the folder, and a symbolic link out of it, are not served (I10)", .timeLimit(.minutes(1))
  )
  func specialFiles() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    let app = folder.appendingPathComponent("app")
    try FileManager.default.createDirectory(at: app, withIntermediateDirectories: true)
    try Data("no".utf8).write(to: folder.appendingPathComponent("secret"))
    try Data("page".utf8).write(to: app.appendingPathComponent("page.html"))
    #expect(mkfifo(app.appendingPathComponent("pipe").path, 0o600) == 0)
    for (name, target) in [
      ("index.html", "page.html"), ("out", "../secret"), ("up", ".."), ("lost", "none"), ("self", "self"),
    ] {
      try FileManager.default.createSymbolicLink(
        atPath: app.appendingPathComponent(name).path, withDestinationPath: target)
    }
    let files = WebFiles(folder: app.path)
    #expect(files.answer(to: request("GET", "/"))?.file?.bytes == Array("page".utf8))
    for path in ["/pipe", "/out", "/up/secret", "/up", "/lost", "/self"] {
      #expect(files.answer(to: request("GET", path)) == nil, "\(path)")
    }
  }

  @Test("pages may connect to their own origin, and to those that the operator names (I10)")
  func connections() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data("page".utf8).write(to: folder.appendingPathComponent("index.html"))
    let named: TextSet = ["https://b.example.org", "https://c.example.org"]
    for (origins, sources) in [([], "'self'"), (named, "'self' https://b.example.org https://c.example.org")]
    {
      let answer = WebFiles(folder: folder.path, origins: origins).answer(to: request("GET", "/"))
      let policy = answer?.headers.first { $0.0 == "Content-Security-Policy" }?.1
      #expect(policy?.contains("; connect-src \(sources); ") == true)
    }
  }

  @Test("a hidden file is not served by a symbolic link that is not hidden (I10)")
  func hidden() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(".\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(
      at: folder.appendingPathComponent(".git"), withIntermediateDirectories: true)
    for path in [".hidden", ".git/config", "page"] {
      try Data("text".utf8).write(to: folder.appendingPathComponent(path))
    }
    for (name, target) in [("file", ".hidden"), ("config", ".git/config"), ("git", ".git"), ("link", "page")]
    {
      try FileManager.default.createSymbolicLink(
        atPath: folder.appendingPathComponent(name).path, withDestinationPath: target)
    }
    let files = WebFiles(folder: folder.path)
    for path in ["/file", "/config", "/git/config"] {
      #expect(files.answer(to: request("GET", path)) == nil, "\(path)")
    }
    // A folder that is hidden itself may be served.
    for path in ["/page", "/link"] {
      #expect(files.answer(to: request("GET", path))?.status == 200, "\(path)")
    }
  }

  @Test("a file has another tag when it is replaced, also by one of the same size, or written to")
  func tags() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let path = folder.appendingPathComponent("app.js")
    let files = WebFiles(folder: folder.path)
    func tag() throws -> String {
      let answer = try #require(files.answer(to: request("GET", "/app.js")))
      #expect(answer.body.isEmpty)
      return try #require(field("ETag", of: answer))
    }
    try Data("one".utf8).write(to: path)
    let first = try tag()
    #expect(try tag() == first)
    try Data("two".utf8).write(to: path, options: .atomic)
    let second = try tag()
    #expect(second != first)
    let writer = try FileHandle(forWritingTo: path)
    try writer.seekToEnd()
    try writer.write(contentsOf: Data("three".utf8))
    try writer.close()
    #expect(try tag() != second)
  }

  // MARK: Cookies

  private static let credentials =
    #"{"name": "ada", "password": "correct horse", "device": {"name": "page"}}"#
  private static let mark = [("Holdfast-Session", "cookie")]

  /// The field that a page sends with the cookie of a session.
  private func mark(of session: HTTPResponse) throws -> (String, String) {
    ("Holdfast-Session", "cookie \(try #require(JSONValue(parsing: session.body)["token_id"]?.stringValue))")
  }

  /// The cookie of an answer, as the browser sends it back.
  private func cookie(of response: HTTPResponse) throws -> String {
    String(try #require(field("Set-Cookie", of: response)).prefix { $0 != ";" })
  }

  @Test("a page's token is in a cookie that scripts cannot read, and nowhere else")
  func session() throws {
    let server = try TestServer()
    let answer = try server.respond(
      to: request(
        "POST", "/v1/accounts", Self.mark + [("Origin", "https://app.example.org")],
        body: Self.credentials))
    #expect(answer.status == 201)
    #expect(try JSONValue(parsing: answer.body)["token"] == nil)
    let set = try #require(field("Set-Cookie", of: answer))
    for part in ["Path=/v1", "HttpOnly", "SameSite=Strict", "Secure", "Max-Age=604800"] {
      #expect(set.contains(part), "\(part)")
    }
    let fields = try [mark(of: answer), ("Cookie", "other=1; \(cookie(of: answer))")]
    #expect(try server.respond(to: request("GET", "/v1/devices", fields)).status == 200)
    // A sync keeps it for longer; the end of the session ends it.
    let sync = try server.respond(to: request("POST", "/v1/sync", fields, body: #"{"protocol": 1}"#))
    #expect(sync.status == 200)
    #expect(try cookie(of: sync) == cookie(of: answer))
    let end = try server.respond(to: request("DELETE", "/v1/sessions/current", fields))
    #expect(field("Set-Cookie", of: end)?.contains("Max-Age=0") == true)
    #expect(try server.respond(to: request("GET", "/v1/devices", fields)).status == 401)
    // Over plain HTTP, as on a developer's machine, it is not kept for HTTPS alone.
    let plain = try server.respond(
      to: request(
        "POST", "/v1/sessions", Self.mark + [("Origin", "http://localhost:8080")],
        body: Self.credentials))
    #expect(field("Set-Cookie", of: plain)?.contains("Secure") == false)
  }

  @Test(
    "a cookie counts only with the client's field, and for pages of the server's own origin (I10)",
    arguments: [
      ([("Holdfast-Session", nil)], 200), ([], 401), ([("Holdfast-Session", "cookie")], 401),
      ([("Holdfast-Session", "other")], 401), ([("Holdfast-Session", "cookie other")], 401),
      ([("Holdfast-Session", nil), ("Origin", "https://evil.example.org")], 401),
      ([("Holdfast-Session", nil), ("Origin", "null")], 401),
      ([("Holdfast-Session", nil), ("Origin", "https://app.example.org")], 200),
      ([("Holdfast-Session", nil), ("Sec-Fetch-Site", "same-origin")], 200),
      ([("Holdfast-Session", nil), ("Sec-Fetch-Site", "same-site")], 401),
      ([("Holdfast-Session", nil), ("Sec-Fetch-Site", "cross-site")], 401),
    ] as [([(String, String?)], Int)])
  func forged(fields: [(String, String?)], status: Int) throws {
    let server = try TestServer()
    let answer = try server.respond(to: request("POST", "/v1/accounts", Self.mark, body: Self.credentials))
    let sent = try fields.map { ($0.0, try $0.1 ?? mark(of: answer).1) }
    let all = try sent + [("Cookie", cookie(of: answer)), ("Host", "app.example.org")]
    #expect(try server.respond(to: request("GET", "/v1/devices", all)).status == status)
  }

  @Test(
    "a cookie counts for the session that the page names, and not for another that took its place (I3, I10)")
  func otherSession() throws {
    let server = try TestServer()
    let ada = try server.respond(to: request("POST", "/v1/accounts", Self.mark, body: Self.credentials))
    let bob = try server.respond(
      to: request(
        "POST", "/v1/accounts", Self.mark,
        body: Self.credentials.replacingOccurrences(of: "ada", with: "bob")))
    // The browser has one cookie for all pages of the origin.
    let fields = try [mark(of: ada), ("Cookie", cookie(of: bob))]
    for (method, target) in [
      ("POST", "/v1/sync"), ("GET", "/v1/devices"), ("POST", "/v1/devices"), ("GET", "/v1/zones"),
      ("DELETE", "/v1/sessions/current"), ("POST", "/v1/events/tickets"), ("GET", "/v1/events"),
    ] {
      let answer = try server.respond(to: request(method, target, fields, body: #"{"protocol": 1}"#))
      #expect(answer.status == 401, "\(method) \(target)")
      #expect(field("Set-Cookie", of: answer) == nil)
    }
    let own = try [mark(of: bob), ("Cookie", cookie(of: bob))]
    #expect(try server.respond(to: request("GET", "/v1/devices", own)).status == 200)
  }

  @Test("over the server's own TLS the cookie is for HTTPS alone, whatever the page says of itself (I10)")
  func secure() throws {
    let server = try TestServer()
    for (isSecure, scheme) in [(true, nil), (true, "http"), (false, "https"), (false, nil)]
      as [(Bool, String?)]
    {
      var ask = request(
        "POST", "/v1/accounts", Self.mark + (scheme.map { [("Origin", "\($0)://h")] } ?? []),
        body: Self.credentials.replacingOccurrences(of: "ada", with: "ada\(isSecure)\(scheme ?? "")"))
      ask.isSecure = isSecure
      let set = try #require(field("Set-Cookie", of: server.respond(to: ask)))
      #expect(set.hasSuffix("; Secure") == (isSecure || scheme == "https"), "\(isSecure) \(scheme ?? "")")
    }
  }

  @Test("two cookies of one name are no cookie: one of them may be of somebody else (I10)")
  func twice() throws {
    let server = try TestServer()
    let answer = try server.respond(to: request("POST", "/v1/accounts", Self.mark, body: Self.credentials))
    let own = try cookie(of: answer)
    let other = "\(SessionCookie.name)=other"
    for fields in [
      [("Cookie", "\(own); \(other)")], [("Cookie", "\(other); \(own)")],
      [("Cookie", own), ("Cookie", other)],
      [("Cookie", "\(own); \(own)")],
    ] {
      #expect(
        try server.respond(to: request("GET", "/v1/devices", [mark(of: answer)] + fields)).status == 401)
    }
    let both = [("Cookie", "a=1"), ("Cookie", "\(own); b=2")]
    #expect(try server.respond(to: request("GET", "/v1/devices", [mark(of: answer)] + both)).status == 200)
  }

  @Test("pages of allowed origins can't send the field of the cookie, and get no cookie along (I10)")
  func crossOrigin() throws {
    let crossOrigin = CrossOrigin(allowed: ["https://app.example.org"])
    let ask = request(
      "OPTIONS", "/v1/sync",
      [("Origin", "https://app.example.org"), ("Access-Control-Request-Method", "POST")])
    let answer = crossOrigin.options(ask, methods: "POST")
    #expect(field("Access-Control-Allow-Headers", of: answer)?.contains("Holdfast-Session") == false)
    let headers = answer.headers + crossOrigin.headers(of: ask.headers)
    #expect(!headers.contains { $0.name == "Access-Control-Allow-Credentials" })
  }
}
