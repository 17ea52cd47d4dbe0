import HoldfastCore
import HoldfastHTTP
import HoldfastPostgres
import HoldfastService
import ServerScenes
import Synchronization
import TemporaryPostgres
import Testing

@testable import HoldfastPostgresStore
@testable import HoldfastServer

/// Writes that locks, interruptions and lost connections of the database keep from being done.
@Suite struct BlockedWriteTests {
  private let server: TestServer
  private let begun: Begun
  private let url: String

  /// How many transactions have begun.
  private final class Begun: Sendable { let count = Mutex(0) }

  init() throws {
    let (url, begun) = (try Engine.postgres.makeDatabase(TestServer.schema()), Begun())
    (self.url, self.begun) = (url, begun)
    server = try TestServer { _ in
      var location = PostgresLocation(url)
      location.onStatement = { sql in
        if sql == "BEGIN ISOLATION LEVEL READ COMMITTED" { begun.count.withLock { $0 += 1 } }
      }
      return .postgres(location)
    }
  }

  private var store: PostgresStore {
    get throws { try #require(server.inline?.service.work.store as? PostgresStore) }
  }

  private func note(_ device: TestDevice, _ text: String = "text") -> Sent {
    .create("notes", device.newID(), ["text": .string(text)])
  }

  private func command(of request: HTTPRequest) throws -> ServiceCommand {
    var step = try #require(server.inline).api.handle(request)
    if case .look(_, let work) = step { step = work() }
    let command: ServiceCommand? = if case .write(let command, _) = step { command } else { nil }
    return try #require(command)
  }

  @Test("a write whose statement is cancelled several times is not refused, and is done in the end (I3)")
  func cancelled() throws {
    let anna = try server.signUp("anna")
    // A sequence does not go back with the transaction.
    try SQLWriter(server).run(
      """
      CREATE SEQUENCE tries;
      CREATE FUNCTION ours() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF nextval('tries') < 6 THEN
          PERFORM pg_cancel_backend(pg_backend_pid());
          PERFORM pg_sleep(600);
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER ours BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION ours();
      """)
    let answer = try anna.sync([note(anna)])
    #expect(answer.refused.isEmpty && answer.confirmed == 1)
  }

  @Test("a time limit of the role does not end a write that takes longer (I3)")
  func timeLimit() throws {
    let role = try SQLWriter(server).texts("SELECT current_user::text")[0]
    try SQLWriter(superuserOn: server).run("ALTER ROLE \(role) SET statement_timeout = '2s'")
    let anna = try server.signUp("anna")
    try SQLWriter(superuserOn: server).run(
      """
      CREATE FUNCTION ours() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM pg_sleep(3);
        RETURN NEW;
      END $$;
      CREATE TRIGGER ours BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION ours();
      """)
    // Its connections are new ones of the role.
    try server.reopen()
    let answer = try anna.sync([note(anna)])
    #expect(answer.refused.isEmpty && answer.confirmed == 1)
  }

  @Test(
    "the fast lane tries a write that a lock blocks once with others and once alone, and defers it (I12)",
    arguments: ["SELECT FROM lists FOR UPDATE", "LOCK TABLE items IN SHARE MODE"])
  func locked(by statement: String) throws {
    let (anna, bob) = (try server.signUp("anna"), try server.signUp("bob"))
    let list = try anna.makeList()
    let commands = [
      try command(
        of: anna.request([[.create("items", anna.newID(), ["list_id": .string(list), "title": "a"])]])),
      try command(of: bob.request([[note(bob)]])),
    ]
    let writer = try SQLWriter(server)
    try writer.run("BEGIN; \(statement)")
    let service = try #require(server.inline).service
    begun.count.withLock { $0 = 0 }
    let results = service.apply(commands)
    #expect(results.map { $0 == nil } == [true, false])
    #expect(begun.count.withLock { $0 } == 3)
    #expect(try store.patience == .milliseconds(5))
    try writer.run("ROLLBACK")
    guard case .success? = service.apply([commands[0]])[0] else {
      Issue.record("The write is not done.")
      return
    }
    #expect(try server.findings() == [])
  }

  @Test("a connection that is lost in a transaction is not replaced before its end (I6)")
  func lost() throws {
    let store = try store
    _ = try store.begin([])
    let process = try store.connection.serverProcess
    let other = try SQLWriter(server)
    _ = try other.texts("SELECT pg_terminate_backend(\(process))::text")
    try blockUntil {
      try other.texts("SELECT pid::text FROM pg_stat_activity WHERE pid = \(process)").isEmpty
    }
    for _ in 0..<2 {
      let error = #expect(throws: PostgresError.self) { try store.read(["unknown"], of: 0) }
      #expect(error?.isConnectionLost == true)
    }
    store.rollBack()
    _ = try store.begin([])
    _ = try store.read(["unknown"], of: 0)
    store.rollBack()
  }

  @Test("a node that hangs in its readiness probe keeps no other node from being ready (I12)")
  func probe() throws {
    let other = try TestServer { [url] _ in .postgres(PostgresLocation(url)) }
    let store = try store
    _ = try store.begin([])
    try store.probe("now")
    #expect(try other.send("GET", "/readyz", token: "").status == 200)
    store.rollBack()
  }

  @Test("a new epoch gives way to a transaction that is in its way, names it, and lets nodes write (I12)")
  func epoch() throws {
    let (anna, bob) = (try server.signUp("anna"), try server.signUp("bob"))
    let list = try anna.makeList()
    let writer = try SQLWriter(server)
    try writer.run("BEGIN; SELECT FROM holdfast.zones WHERE zone = '\(list)' FOR UPDATE")
    let store = try #require(server.inline).api.database.administration().store
    let epoch = NewEpoch(server.world.environment, because: .commanded, isForkKnown: true)
    let error = #expect(throws: EpochBlocked.self) { try store.beginEpoch(epoch, after: nil) }
    #expect(error?.description.contains("\(writer.connection.serverProcess)") == true)
    if let error { guard case .blocked = store.meaning(of: error) else { throw error } }
    #expect(try bob.sync([note(bob)]).refused.isEmpty)
    let before = try #require(server.inline).api.database.epoch
    var reports: [String] = []
    try Restore(server.location).beginEpoch(
      report: { reports.append($0) }, pause: { _ in try? writer.run("COMMIT") })
    #expect(reports.count == 1)
    _ = try bob.sync()
    #expect(try #require(server.inline).api.database.epoch != before)
  }
}
