import Foundation
import Holdfast
import HoldfastServer
import Testing

/// The server's own TLS, as `curl` and a device see it.
@Suite("TLS") struct TLSTests {
  /// A folder with an authority, and certificates that it has signed.
  private final class Authority {
    let folder: URL
    var certificate: String { path("ca.pem") }

    init() throws {
      folder = try Programs.makeFolder()
      try openssl(
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
        "2", "-subj",
        "/CN=Test authority", "-keyout", path("ca.key"), "-out", certificate)
      try Data("subjectAltName=IP:127.0.0.1".utf8).write(to: URL(fileURLWithPath: path("names")))
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    /// Makes a certificate for the address of the tests.
    func issue(_ name: String, isRSA: Bool = false) throws {
      let key = isRSA ? ["rsa:2048"] : ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
      try openssl(
        ["req", "-newkey"] + key + ["-nodes", "-subj", "/CN=\(name)"] + [
          "-keyout", path("\(name).key"), "-out", path("\(name).csr"),
        ])
      try openssl(
        "x509", "-req", "-in", path("\(name).csr"), "-CA", certificate, "-CAkey", path("ca.key"),
        "-CAcreateserial", "-days", "2", "-extfile", path("names"), "-out", path("\(name).pem"))
    }

    /// Puts a pair where the server looks for it.
    func use(_ certificate: String, _ key: String) throws {
      for (from, to) in [(certificate, "server.pem"), (key, "server.key")] {
        try Data(contentsOf: URL(fileURLWithPath: path(from))).write(
          to: URL(fileURLWithPath: path(to)), options: .atomic)
      }
    }

    private func openssl(_ arguments: String...) throws { try openssl(arguments) }

    private func openssl(_ arguments: [String]) throws {
      let run = try Run("openssl", arguments)
      _ = run.readAll()
      try #require(run.status == 0)
    }
  }

  /// A program of the system that was started.
  private final class Run {
    private let process = Process()
    private let output = Pipe()

    init(_ program: String, _ arguments: [String]) throws {
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = [program] + arguments
      process.standardOutput = output
      process.standardInput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.run()
    }

    deinit { if process.isRunning { process.terminate() } }

    func readAll() -> [UInt8] { [UInt8](output.fileHandleForReading.readDataToEndOfFile()) }

    /// Reads until a text has come, or the end.
    func read(through text: String) -> String {
      var read = ""
      while !read.contains(text) {
        let data = output.fileHandleForReading.availableData
        if data.isEmpty { break }
        read += String(decoding: data, as: UTF8.self)
      }
      return read
    }

    var status: Int32 {
      process.waitUntilExit()
      return process.terminationStatus
    }
  }

  private final class World {
    let authority: Authority
    let server: Server
    let shared: SharedDatabase

    init() throws {
      authority = try Authority()
      for name in ["one", "two"] { try authority.issue(name) }
      try authority.use("one.pem", "one.key")
      shared = try SharedDatabase.make(in: authority.folder)
      var configuration = Configuration(schema: try Scene.schema(), database: shared.location) {
        _ in
      }
      configuration.tls = TLSFiles(
        certificate: authority.path("server.pem"), key: authority.path("server.key"))
      server = try Server(configuration)
    }

    deinit { server.stop(grace: .zero) }

    func start(_ path: String, _ options: [String]) throws -> Run {
      try Run(
        "curl",
        ["--silent", "--no-buffer", "--max-time", "60", "--cacert", authority.certificate] + options
          + [server.url + path])
    }

    func curl(_ path: String, _ options: String...) throws -> (status: Int32, body: [UInt8]) {
      let run = try start(path, options)
      let body = run.readAll()
      return (run.status, body)
    }

    func json(_ path: String, _ body: String, _ token: String = "") throws -> JSONValue {
      let answer = try curl(
        path, "--json", body, "--header", "Authorization: Bearer \(token)")
      return (try? JSONValue(parsing: answer.body)) ?? .null
    }

    /// A user's token.
    func signUp() throws -> String {
      let session = try json(
        "/v1/accounts", #"{"name":"ann","password":"correct-horse","device":{"name":"x"}}"#)
      return try #require(session["token"]?.stringValue)
    }

    func subject() throws -> String {
      let answer = try curl("/healthz", "--output", "/dev/null", "--write-out", "%{certs}")
      let text = String(decoding: answer.body, as: UTF8.self)
      return text.split(separator: "\n").first { $0.hasPrefix("Subject:") }.map(String.init) ?? ""
    }
  }

  @Test("requests are answered over TLS 1.2 and 1.3, not over older ones, and not without TLS")
  func versions() throws {
    let world = try World()
    #expect(world.server.url.hasPrefix("https://"))
    for version in ["--tlsv1.2", "--tlsv1.3"] {
      #expect(try world.curl("/healthz", version).status == 0)
    }
    #expect(
      try world.curl("/healthz", "--tlsv1.0", "--tls-max", "1.1", "--ciphers", "ALL:@SECLEVEL=0")
        .status != 0)
    let plain = try Run(
      "curl",
      [
        "--silent", "--max-time", "60",
        world.server.url.replacing("https", with: "http") + "/healthz",
      ])
    _ = plain.readAll()
    #expect(plain.status != 0)
  }

  @Test("of TLS 1.2 only ciphers with forward secrecy and authentication are taken: no static RSA, no CBC")
  func ciphers() throws {
    let world = try World()
    // With a key of RSA all of them could be had.
    try world.authority.issue("rsa", isRSA: true)
    try world.authority.use("rsa.pem", "rsa.key")
    world.server.reloadCertificate()
    func isTaken(_ cipher: String, _ options: String...) throws -> Bool {
      let run = try Run(
        "openssl",
        ["s_client", "-connect", "127.0.0.1:\(world.server.port)", "-CAfile", world.authority.certificate]
          + (options.isEmpty ? ["-tls1_2", "-cipher", cipher + ":@SECLEVEL=0"] : options))
      _ = run.readAll()
      return run.status == 0
    }
    for cipher in [
      "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305",
    ] {
      #expect(try isTaken(cipher), "\(cipher)")
    }
    for cipher in [
      "AES128-SHA", "AES256-SHA", "AES128-SHA256", "AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-CCM",
      "ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES256-SHA384", "ECDHE-RSA-CAMELLIA128-SHA256", "DHE-RSA-AES128-SHA",
      "ADH-AES128-SHA", "NULL",
    ] { #expect(try !isTaken(cipher), "\(cipher)") }
    #expect(try isTaken("", "-tls1_3"))
    #expect(try !isTaken("", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0"))
  }

  @Test(
    "large answers, large requests and files come whole, and what is too large is refused with words"
  )
  func sizes() throws {
    let world = try World()
    let token = try world.signUp()
    let list = try #require(
      try world.json("/v1/tables/lists", #"{"columns":{"title":"Large"}}"#, token)["id"]?
        .stringValue)
    let text = String(repeating: "x", count: 9000)
    let position = Position.between(nil, nil, replica: Position.Replica(random: 1), nonce: 1).string
    let items = (0..<300).map { _ in
      #"{"columns":{"list_id":"\#(list)","title":"\#(text)","position":"\#(position)"}}"#
    }
    let body = world.authority.path("body.json")
    try Data(#"{"records":[\#(items.joined(separator: ","))]}"#.utf8).write(
      to: URL(fileURLWithPath: body))
    let made = try world.json("/v1/tables/items", "@" + body, token)
    #expect(made["results"]?.elements?.count { $0["status"] == 201 } == 300)
    let authorized = ["--header", "Authorization: Bearer \(token)"]
    let read = try world.curl("/v1/tables/items?limit=300", authorized[0], authorized[1])
    #expect(read.body.count > 2_700_000)
    #expect(try JSONValue(parsing: read.body)["records"]?.elements?.count == 300)
    let file = try world.curl("/v1/zones/\(list)/snapshot", authorized[0], authorized[1])
    #expect(String(decoding: file.body.prefix(15), as: UTF8.self) == "SQLite format 3")
    let much = world.authority.path("much.json")
    try Data(repeating: 0x20, count: 17 << 20).write(to: URL(fileURLWithPath: much))
    let refused = try world.json("/v1/batch", "@" + much, token)
    #expect(refused["code"] == "body-too-large")
  }

  @Test("a device tells of a certificate that it does not trust, and sends it nothing (I3)")
  func untrusted() async throws {
    let world = try World()
    let address = try #require(URL(string: world.server.url))
    let phone = try Device("phone", in: world.authority.folder, server: address, schema: try Scene.schema())
    try await phone.store.write {
      try $0.execute("INSERT INTO lists (id, title) VALUES (?, 'Groceries')", [.text($0.newID())])
    }
    let error = await #expect(throws: StoreError.self) {
      try await phone.engine.signUp(name: "ann", password: "correct-horse", device: "phone")
    }
    #expect(error?.code == .offline)
    #expect(error?.description.contains("certificate") == true)
    #expect(try phone.contents(try Scene.schema())["lists"]?.count == 1)
    #expect(try world.shared.reader().value("SELECT count(*) FROM holdfast_accounts") == 0)
  }

  @Test("a device trusts the authorities of the file that SSL_CERT_FILE names")
  func trusted() throws {
    let world = try World()
    let device = world.authority.folder.appendingPathComponent("laptop.db")
    let address = try #require(URL(string: world.server.url))
    let run = try JotRun.start(
      device, address, ["sign-up", "ann"], environment: ["SSL_CERT_FILE": world.authority.certificate]
    ).wait()
    #expect(run.status == 0, "\(run.errors)")
    #expect(try world.shared.reader().value("SELECT count(*) FROM holdfast_accounts") == 1)
  }

  @Test("a stream of events brings what moved at once, and ends with the server")
  func stream() throws {
    let world = try World()
    let token = try world.signUp()
    let stream = try world.start("/v1/events", ["--header", "Authorization: Bearer \(token)"])
    #expect(stream.read(through: "event: hello").contains("event: hello"))
    let session = try world.json(
      "/v1/sessions", #"{"name":"ann","password":"correct-horse","device":{"name":"y"}}"#)
    let other = try #require(session["token"]?.stringValue)
    for number in 0..<3 {
      _ = try world.json("/v1/tables/lists", #"{"columns":{"title":"\#(number)"}}"#, other)
      #expect(stream.read(through: "event: zones").contains("event: zones"))
    }
    world.server.stop()
    _ = stream.readAll()
    #expect(stream.status == 0)
  }

  @Test("another certificate is taken while the server runs, and a pair that can't be used is not")
  func rotation() throws {
    let world = try World()
    #expect(try world.subject().contains("one"))
    try world.authority.use("two.pem", "two.key")
    world.server.reloadCertificate()
    #expect(try world.subject().contains("two"))
    for (certificate, key) in [("one.pem", "two.key"), ("names", "one.key"), ("one.pem", "names")] {
      try world.authority.use(certificate, key)
      world.server.reloadCertificate()
      #expect(try world.subject().contains("two"))
    }
    try world.authority.use("one.pem", "one.key")
    world.server.reloadCertificate()
    #expect(try world.subject().contains("one"))
  }
}
