import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer

/// Tickets for event streams: PROTOCOL.md, section 3.1.
@Suite("Tickets for event streams")
struct EventTicketTests {
  private let server: TestServer
  private let alice: TestDevice

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
  }

  private func ticket(_ token: String?) throws -> String {
    let answer = try server.send("POST", "/v1/events/tickets", token: token)
    try #require(answer.status == 201)
    #expect(answer.body["expires_in"]?.integerValue == 60)
    return try #require(answer.body["ticket"]?.stringValue)
  }

  /// Opens a stream with a ticket, as an EventSource does: 200, or the problem that refuses it.
  private func open(_ ticket: String, stream: Int = 1) throws -> String {
    let inline = try #require(server.inline)
    switch inline.open(HTTPRequest(target: "/v1/events?ticket=\(ticket)"), stream: stream) {
    case .success: return "200"
    case .failure(let refused):
      let problem = try JSONValue(parsing: refused.answer.body)
      return "\(refused.answer.status) \(problem["code"]?.stringValue ?? "")"
    }
  }

  @Test("a ticket opens the stream of its device, which hears of what others change (I10)")
  func opens() throws {
    let tablet = try server.signIn("alice")
    let list = try alice.makeList()
    try alice.pull()
    #expect(try open(ticket(alice.token)) == "200")
    try tablet.pull()
    _ = try tablet.makeItem(list)
    let events = try #require(server.inline).takeEvents()
    #expect(events.map(\.stream) == [1])
    let text = String(decoding: events.first?.bytes ?? [], as: UTF8.self)
    #expect(text.contains(list))
    #expect(try server.findings().isEmpty)
  }

  @Test("a ticket is good once, also after a restart of the server (I10)")
  func once() throws {
    let ticket = try ticket(alice.token)
    try server.reopen()
    #expect(try open(ticket) == "200")
    #expect(try open(ticket, stream: 2) == "401 ticket-invalid")
    try server.reopen()
    #expect(try open(ticket, stream: 3) == "401 ticket-invalid")
  }

  @Test("a ticket is good for 60 seconds, and a device has one: another one replaces it (I11)")
  func expires() throws {
    let late = try ticket(alice.token)
    server.world.advance(60_000)
    #expect(try open(late) == "401 ticket-invalid")
    let replaced = try ticket(alice.token)
    let last = try ticket(alice.token)
    server.world.advance(59_999)
    #expect(try open(replaced) == "401 ticket-invalid")
    #expect(try open(last) == "200")
  }

  @Test("a ticket ends with its session, by whatever the session ends (I10)")
  func ends() throws {
    let phone = try server.signIn("alice")
    let ofPhone = try ticket(phone.token)
    #expect(try server.send("DELETE", "/v1/sessions/current", token: phone.token).status == 204)
    #expect(try open(ofPhone) == "401 ticket-invalid")
    let tablet = try server.signIn("alice")
    let ofTablet = try ticket(tablet.token)
    #expect(try server.send("DELETE", "/v1/devices/\(tablet.id)", token: alice.token).status == 204)
    #expect(try open(ofTablet) == "401 ticket-invalid")
    let watch = try server.signIn("alice")
    let ofWatch = try ticket(watch.token)
    _ = try server.signIn("alice", device: watch.id)
    #expect(try open(ofWatch) == "401 ticket-invalid")
    let mine = try ticket(alice.token)
    #expect(
      try server.send("DELETE", "/v1/account", ["password": "correct horse"], token: alice.token).status < 300
    )
    #expect(try open(mine) == "401 ticket-invalid")
  }

  @Test("a stream that a ticket opened ends with the session (I10)")
  func streamEnds() throws {
    #expect(try open(ticket(alice.token)) == "200")
    _ = try server.send("DELETE", "/v1/sessions/current", token: alice.token)
    #expect(try #require(server.inline).takeEnded() == [1])
  }

  @Test("a ticket is no token, and a token no ticket (I10)")
  func nothingElse() throws {
    let ticket = try ticket(alice.token)
    for path in ["/v1/devices", "/v1/zones", "/v1/events/tickets"] {
      let method = path.hasSuffix("tickets") ? "POST" : "GET"
      #expect(try server.send(method, path, token: ticket).code == "token-invalid")
      #expect(try server.send(method, "\(path)?ticket=\(ticket)").code == "token-missing")
    }
    #expect(try open(alice.token) == "401 ticket-invalid")
    #expect(try open(ticket) == "200")
  }

  @Test(
    "what is no ticket is refused",
    arguments: ["", "%00", "%ff", "x", String(repeating: "x", count: 15_000)])
  func refused(text: String) throws {
    // By reading alone: anybody may send one.
    let step = try #require(server.inline).api.handle(HTTPRequest(target: "/v1/events?ticket=\(text)"))
    if case .answer = step {} else { Issue.record("It costs the writer something.") }
    #expect(try open(text) == (text == "%ff" ? "401 token-missing" : "401 ticket-invalid"))
    #expect(server.failures.lines.withLock { $0 }.isEmpty)
  }

  @Test(
    "a query that can't be read opens no stream by the token beside it",
    arguments: ["ticket=%zz", "ticket=a&ticket=b"])
  func unreadable(query: String) throws {
    var request = HTTPRequest(target: "/v1/events?\(query)")
    request.headers.append(name: "Authorization", value: "Bearer \(alice.token)")
    let step = try #require(server.inline).api.handle(request)
    if case .answer(let answer) = step {
      #expect(answer.status == 400)
    } else {
      Issue.record("A stream is opened.")
    }
  }

  @Test("a service token gets tickets, a JWT none: its stream would outlive it")
  func programs() throws {
    let provider = TestProvider()
    let server = try TestServer(provider: provider.configuration)
    let token = try Administration(server.location, environment: server.world.environment).createToken(
      name: "reporter", role: .viewer, tables: nil, zones: nil)
    #expect(try server.send("POST", "/v1/events/tickets", token: token).status == 201)
    let jwt = provider.token(TestProvider.claims("s-1", at: server.world.now))
    #expect(try server.send("POST", "/v1/events/tickets", token: jwt).code == "token-limited")
  }

  @Test("the database has no ticket, but its hash")
  func hashed() throws {
    let ticket = try ticket(alice.token)
    #expect(try !server.dump().contains(ticket))
  }
}
