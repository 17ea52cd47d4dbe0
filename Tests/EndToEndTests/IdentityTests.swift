import Foundation
import Holdfast
import HoldfastHTTP
import HoldfastPostgres
import HoldfastServer
import Synchronization
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Devices whose token is revoked, people of an identity provider, and what is kept of all secrets.
@Suite("Identity over real HTTP")
struct IdentityTests {
  /// A token that `openssl` has signed, of subject s-1, until the year 2100; and the set with its key.
  static let token = """
    eyJhbGciOiJFUzI1NiIsImtpZCI6InAyNTYifQ.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUub3JnIiwiYXVkIjoiaG9sZGZhc\
    3QiLCJzdWIiOiJzLTEiLCJleHAiOjQxMDI0NDQ4MDB9.fB8_vKMGiM1V3slep5jqehlD4zMwnb2hplIzROgOR_sp-b-p22jnhWcy\
    LR2VqMtWj-SIuPhzc35_hnZjvWUQlw
    """
  private static let keys =
    #"{"keys":[{"kty": "EC", "crv": "P-256", "kid": "p256", "x": "1YqxKhnT014ARBRFlHzzMwGy_v7byYaujOJnvUIwgHQ", "y": "C75XjBrU0Po1RZW3pJVdibL5o2Z-XfdEEtTMMa_V5rg"}]}"#

  /// Sends JSON, and gives the status and the answer.
  private func send(
    _ server: URL, _ method: String, _ path: String, _ body: JSONValue? = nil, token: String? = nil
  ) async throws -> (status: Int, body: JSONValue) {
    var request = URLRequest(url: server.appendingPathComponent(path))
    request.httpMethod = method
    if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
    if let body {
      request.setValue("application/json", forHTTPHeaderField: "Content-Type")
      request.httpBody = Data(body.bytes)
    }
    let (data, response) = try await URLSession.shared.data(for: request)
    return (
      (response as? HTTPURLResponse)?.statusCode ?? 0,
      (try? JSONValue(parsing: [UInt8](data))) ?? .null
    )
  }

  private func signIn(_ server: URL, _ name: String, _ password: String) async throws -> String {
    let answer = try await send(
      server, "POST", "v1/sessions",
      ["name": .string(name), "password": .string(password), "device": ["name": "browser"]])
    return try #require(answer.body["token"]?.stringValue)
  }

  private func write(_ title: String, on device: Device) async throws {
    try await device.store.write {
      try $0.execute(
        "INSERT INTO lists (id, title) VALUES (?, ?)", [.text($0.newID()), .text(title)])
    }
  }

  private func expectSignedOut(_ device: Device) async {
    await #expect(throws: StoreError.self) { try await device.engine.sync() }
  }

  @Test(
    "a device that was revoked keeps its unsent edits, and sends them when somebody signs in on it (I3)"
  )
  func revoked() async throws {
    let scene = try Scene()
    let phone = try await scene.signUp("ann", on: "phone")
    try await phone.engine.sync()
    let browser = try await signIn(scene.server.address, "ann", "correct-horse")
    try await write("Before", on: phone)
    let devices = try await send(scene.server.address, "GET", "v1/devices", token: browser).body[
      "devices"]
    let own = try #require(devices?.elements?.first { $0["name"] == "phone" }?["id"]?.stringValue)
    #expect(
      try await send(scene.server.address, "DELETE", "v1/devices/\(own)", token: browser).status
        == 204)
    await expectSignedOut(phone)
    try await write("After", on: phone)
    #expect(try await phone.store.waitingOperations() == 2)
    try await phone.engine.signIn(name: "ann", password: "correct-horse", device: "phone")
    try await phone.engine.sync()
    #expect(try await phone.store.waitingOperations() == 0)
    let lists = try await send(scene.server.address, "GET", "v1/tables/lists", token: browser).body[
      "records"]
    #expect(lists?.elements?.count == 2)

    let holdfast = Process()
    holdfast.executableURL = Programs.path("holdfast")
    holdfast.arguments = ["devices", "revoke", own] + scene.server.shared.options
    holdfast.standardOutput = FileHandle.nullDevice
    try holdfast.run()
    holdfast.waitUntilExit()
    #expect(holdfast.terminationStatus == 0)
    await expectSignedOut(phone)
  }

  @Test(
    "a device signs in with the token of a provider whose keys have an address, and goes on after its session ended (I3)"
  )
  func provider() async throws {
    let keys = try HTTPServer { _, responder in
      responder.respond(HTTPResponse(status: 200, body: Array(Self.keys.utf8)))
    }
    defer { keys.stop(grace: .zero) }
    let scene = try Scene(options: [
      "--jwt-issuer", "https://id.example.org", "--jwt-audience", "holdfast", "--jwt-keys",
      "http://127.0.0.1:\(keys.port)/keys",
    ])
    let phone = try scene.device("phone")
    try await write("Offline", on: phone)
    try await phone.engine.signIn(token: Self.token, device: "phone")
    try await phone.engine.sync()
    try await phone.engine.signOut()
    try await write("Later", on: phone)
    try await phone.engine.signIn(token: Self.token, device: "phone")
    try await phone.engine.sync()
    let lists = try await send(scene.server.address, "GET", "v1/tables/lists", token: Self.token)
    #expect(lists.body["records"]?.elements?.count == 2)
    await #expect(throws: Problem.self) {
      try await scene.device("other").engine.signIn(token: Self.token + "A", device: "other")
    }
  }

  @Test("neither passwords nor tokens are in the log or in the database")
  func secrets() async throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let shared = try SharedDatabase.make(in: folder)
    let log = Mutex("")
    var configuration = Configuration(schema: try Scene.schema(), database: shared.location) {
      line in
      log.withLock { $0 += line + "\n" }
    }
    configuration.allowsSignUp = true
    configuration.identityProvider = IdentityProviderConfiguration(
      issuer: "https://id.example.org", audience: "holdfast"
    ) { Array(Self.keys.utf8) }
    let server = try Server(configuration)
    let address = try #require(URL(string: server.url))
    let (first, second, wrong) = ("first-password-1", "second-password-2", "wrong-password-3")
    let account = try await send(
      address, "POST", "v1/accounts",
      ["name": "ann", "password": .string(first), "device": ["name": "phone"]])
    let phone = try #require(account.body["token"]?.stringValue)
    let browser = try await signIn(address, "ann", first)
    let refused = try await send(
      address, "POST", "v1/sessions",
      ["name": "ann", "password": .string(wrong), "device": ["name": "x"]])
    #expect(refused.status == 401)
    let change: JSONValue = ["old": .string(first), "new": .string(second)]
    #expect(
      try await send(address, "PUT", "v1/account/password", change, token: phone).status == 204)
    #expect(try await send(address, "GET", "v1/devices", token: phone).status == 200)
    #expect(try await send(address, "GET", "v1/zones", token: browser).status == 401)
    let service = try Administration(shared.location).createToken(
      name: "reporter", role: .editor, tables: nil, zones: nil)
    #expect(try await send(address, "GET", "v1/tables/lists", token: service).status == 200)
    #expect(try await send(address, "GET", "v1/zones", token: Self.token).status == 200)
    let byToken = try await send(
      address, "POST", "v1/sessions", ["token": .string(Self.token), "device": ["name": "phone"]])
    let session = try #require(byToken.body["token"]?.stringValue)
    #expect(try await send(address, "GET", "v1/zones", token: Self.token + "A").status == 401)
    #expect(try await send(address, "DELETE", "v1/sessions", token: session).status == 204)
    server.stop()
    let signature = Self.token.split(separator: ".").last.map(String.init) ?? ""
    let kept = try stored(shared)
    for secret in [first, second, wrong, phone, browser, service, session, signature] {
      #expect(!log.withLock { $0.contains(secret) })
      #expect(!kept.contains(secret))
    }
    #expect(log.withLock { $0.contains("/v1/account/password") })
    #expect(kept.contains("argon2id"))
  }

  /// All that is in the database, as text.
  private func stored(_ shared: SharedDatabase) throws -> String {
    switch shared {
    case .directory(let folder):
      let files =
        FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects
        ?? []
      return files.compactMap { $0 as? URL }.compactMap { try? Data(contentsOf: $0) }
        .map { String(decoding: $0, as: UTF8.self) }.joined()
    case .postgres:
      return try shared.connection().query("SELECT database_to_xml(true, false, '')::text").text(
        0, 0)
    }
  }
}
