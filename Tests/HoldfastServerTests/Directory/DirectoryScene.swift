import HoldfastCore
import HoldfastHTTP
import HoldfastPostgres
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer
@testable import HoldfastService

/// Two databases, a and b, of one directory. In a is ann.
final class DirectoryScene {
  let url: String
  let a: TestServer
  let b: TestServer

  init(url: String? = nil, b engine: Engine = .used) throws {
    let url = try url ?? TemporaryPostgres.shared.makeDatabase()
    self.url = url
    (a, b) = (try TestServer(), try TestServer(engine: engine))
    // Both begin with the same seed, and ids must differ.
    _ = b.world.random(7)
    try DirectoryAdministration(url).create()
    for (server, name) in [(a, "a"), (b, "b")] {
      #expect(try join(server, as: name).taken.isEmpty)
      server.directory = DirectoryConfiguration(url)
      try server.reopen()
    }
  }

  var administration: DirectoryAdministration { get throws { try DirectoryAdministration(url) } }

  func join(_ server: TestServer, as name: String, isMoved: Bool = false) throws -> (
    claimed: Int, taken: [String]
  ) {
    try administration.join(
      Administration(server.location), as: name, url: "https://\(name).example.org", isMoved: isMoved)
  }

  /// Changes the directory behind everybody's back.
  func change(_ sql: String) throws { try PostgresConnection(url).execute(sql) }

  func count(_ from: String) throws -> Int64 {
    try PostgresConnection(url).query(PostgresStatement("SELECT count(*) FROM holdfast_directory.\(from)"))
      .int64(0, 0)
  }

  /// A pass for b.
  func pass(_ device: TestDevice, to target: String = "b") throws -> String {
    let reply = try RestClient(device).send("POST", "/v1/passes", ["database": .string(target)])
    try #require(reply.status == 201, "\(reply.json)")
    #expect(reply.json["url"] == .string("https://\(target).example.org"))
    return try #require(reply.json["pass"]?.stringValue)
  }

  static func body(_ pass: String, device: JSONValue = ["name": "phone"]) -> JSONValue {
    ["pass": .string(pass), "device": device]
  }

  static func signIn(_ pass: String) -> HTTPRequest {
    TestServer.request("POST", "/v1/sessions", body(pass).bytes, token: nil)
  }

  /// A session in b with a pass of a.
  func guest(_ device: TestDevice) throws -> TestDevice {
    let answer = try b.respond(to: Self.signIn(pass(device)))
    try #require(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
    return try TestDevice(b, JSONValue(parsing: answer.body))
  }

  static func signUp(_ name: String) -> HTTPRequest {
    let body: JSONValue = [
      "name": .string(name), "password": "correct horse", "device": ["name": "phone"],
    ]
    return TestServer.request("POST", "/v1/accounts", body.bytes, token: nil)
  }

  /// Both databases do their rounds, until what one tells has come to the other.
  func follow() throws {
    try a.inline?.followDirectory()
    try b.inline?.followDirectory()
  }

  /// Whether a session is good.
  static func isGood(_ device: TestDevice) throws -> Bool {
    let status = try RestClient(device).get("/v1/devices").status
    #expect(status == 200 || status == 401)
    return status == 200
  }

  /// The code of the problem of an answer.
  static func code(_ response: HTTPResponse) -> String? { RestClient.Reply(response).code }

  /// How many sessions are good in b.
  func liveInB() throws -> Int64? {
    try b.integer(
      "SELECT count(*) FROM holdfast_devices WHERE token_hash IS NOT NULL",
      "SELECT count(*) FROM holdfast.devices WHERE token_hash IS NOT NULL")
  }

  /// Takes some steps of a request, and then ends the server, as a kill between two of them does.
  ///
  /// - Returns: whether the request was answered before.
  static func kill(_ server: TestServer, after count: Int, of request: HTTPRequest) throws -> Bool {
    let isAnswered = try Steps(request, at: server).take(count) != nil
    try server.reopen()
    return isAnswered
  }

  /// That the names of both databases are those of the directory, and all is well in both.
  func check() throws {
    for server in [a, b] {
      #expect(try administration.check(Administration(server.location), repairs: false) == [])
      let findings = try server.findings()
      #expect(findings.isEmpty, "\(findings)")
    }
  }
}

/// A request that is answered step by step.
final class Steps {
  private let inline: InlineServer
  private var step: Step

  init(_ request: HTTPRequest, at server: TestServer) throws {
    inline = try #require(server.inline)
    step = inline.api.handle(request)
  }

  /// Takes some steps.
  ///
  /// - Returns: the answer, if there is one by then.
  @discardableResult
  func take(_ count: Int) -> HTTPResponse? {
    for _ in 0..<count {
      switch step {
      case .password(let work), .signUp(let work), .fetch(_, let work), .read(let work), .build(let work),
        .look(_, let work):
        step = work()
      case .first(let command, let next): step = next(apply(command))
      case .write(let command, let answer): step = .answer(answer(apply(command)))
      case .answer, .events: break
      }
    }
    if case .answer(let answer) = step { return answer }
    return nil
  }

  /// Takes the steps up to a write that another step follows, and has it fail, as when the database is busy.
  func failFirst() {
    while true {
      if case .first(_, let next) = step { return step = next(.failure(Problem(.busy))) }
      if take(1) != nil { return }
    }
  }

  private func apply(_ command: ServiceCommand) -> Result<Outcome, Problem> {
    (inline.service.apply([command]).first ?? nil) ?? .failure(Problem(.busy))
  }
}
