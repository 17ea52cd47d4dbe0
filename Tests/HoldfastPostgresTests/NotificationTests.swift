import HoldfastPostgres
import TemporaryPostgres
import Testing

@Suite("Notifications")
struct NotificationTests {
  let fixture: Fixture
  let sender: PostgresConnection
  var connection: PostgresConnection { fixture.connection }

  init() throws {
    fixture = try Fixture()
    sender = try PostgresConnection(fixture.url)
  }

  @Test("what is sent to a channel arrives, in order, with its payload and sender")
  func arrives() throws {
    try connection.listen("Zone \"a\"")
    #expect(try connection.notifications(timeout: .zero).isEmpty)
    try sender.execute(
      "BEGIN; NOTIFY \"Zone \"\"a\"\"\", 'é'; NOTIFY \"Zone \"\"a\"\"\"; NOTIFY other; COMMIT")
    let received = try connection.notifications(timeout: nil)
    #expect(received.map(\.channel) == ["Zone \"a\"", "Zone \"a\""])
    #expect(received.map(\.payload) == ["é", ""])
    #expect(received.allSatisfy { $0.serverProcess == sender.serverProcess })
  }

  @Test("what arrives during a query is not lost")
  func duringQuery() throws {
    try connection.listen("a")
    try sender.execute("NOTIFY a, '1'")
    try connection.run("SELECT 1")
    try connection.pipeline { pipe in pipe.send("SELECT 1") }
    #expect(try connection.notifications(timeout: .zero).map(\.payload) == ["1"])
  }

  @Test("another thread ends a wait, and one call of wake ends one wait")
  func wake() throws {
    let waker = try PostgresWaker()
    try connection.listen("a")
    waker.wake()
    waker.wake()
    #expect(try connection.notifications(timeout: nil, waker: waker).isEmpty)
    let waking = Background { waker.wake() }
    #expect(try connection.notifications(timeout: nil, waker: waker).isEmpty)
    try waking.wait()
    try sender.execute("NOTIFY a, '1'")
    #expect(try connection.notifications(timeout: nil, waker: waker).map(\.payload) == ["1"])
  }

  @Test("a wait on a connection that is ended throws")
  func ended() throws {
    try connection.listen("a")
    try sender.run("SELECT pg_terminate_backend($1, 60000)", PostgresParameters(connection.serverProcess))
    let error = #expect(throws: PostgresError.self) { try connection.notifications(timeout: nil) }
    #expect(error?.isConnectionLost == true)
    #expect(!connection.isUsable)
  }
}
