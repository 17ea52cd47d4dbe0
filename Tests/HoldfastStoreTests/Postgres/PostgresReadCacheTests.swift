import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Synchronization
import TemporaryPostgres
import Testing

@testable import HoldfastServer
@testable import HoldfastService

/// What readers of PostgreSQL know without reading it again. Invariants I4, I6, I7 and I10.
@Suite(.serialized) struct PostgresReadCacheTests {
  /// What the server sends, and what happens right before one of the statements.
  private final class Statements: Sendable {
    let texts = Mutex<[String]>([])
    let interruption = Mutex<(text: String, body: (@Sendable () -> Void)?)>(("", nil))

    func add(_ text: String) {
      texts.withLock { $0.append(text) }
      interruption.withLock { interruption -> (@Sendable () -> Void)? in
        guard let body = interruption.body, text.contains(interruption.text) else { return nil }
        interruption.body = nil
        return body
      }?()
    }

    func interrupt(before text: String, _ body: @escaping @Sendable () -> Void) {
      interruption.withLock { $0 = (text, body) }
    }
  }

  private let statements = Statements()
  private let server: TestServer
  private let alice: TestDevice
  private let bob: TestDevice
  /// A list of both.
  private let list: String
  // Of its own: the numbers of transactions are those of the cluster.
  private static let cluster = Result { try TemporaryPostgres() }

  init() throws { try self.init(life: .seconds(3600)) }

  /// - Parameter life: how long the lane relies on what it remembers.
  private init(life: Duration) throws {
    let (cluster, statements) = (try Self.cluster.get(), statements)
    server = try TestServer(
      location: { _ in
        var location = PostgresLocation(try cluster.makeDatabase())
        location.onStatement = { statements.add($0) }
        location.memoryLife = life
        return .postgres(location)
      })
    (alice, bob) = (try server.signUp("alice"), try server.signUp("bob"))
    list = try alice.makeList()
    _ = try alice.share(list, with: "bob")
    for device in [alice, bob] { try device.pull() }
  }

  /// What the server sends to answer a device that has nothing new to say.
  private func asked(_ device: TestDevice) throws -> [String] {
    statements.texts.withLock { $0 = [] }
    _ = try device.apply(server.respond(to: device.request([])))
    return statements.texts.withLock { $0 }
  }

  /// Asks until the device and its zones are not read again.
  private func becomeKnown(_ device: TestDevice) throws {
    for _ in 0..<10 where try asked(device).count == 1 { return }
    Issue.record("Each answer reads the device.")
  }

  private func isReading(_ statements: [String]) -> Bool {
    statements.contains { $0.contains("JOIN holdfast.acks a ON a.device = d.number") }
  }

  @Test("what others write elsewhere through the server leaves known what is known of a device")
  func elsewhere() throws {
    let own = try bob.makeList()
    for _ in 0..<4 { _ = try bob.makeItem(own) }
    try becomeKnown(alice)
    for _ in 0..<3 {
      _ = try bob.makeItem(own)
      #expect(try asked(alice).count == 1)
    }
    // Also what the lane has not remembered: it asks, and nobody else has written.
    try bob.sync([.update("lists", own, ["title": "Other"])])
    #expect(try asked(alice).count == 1)
  }

  @Test("of a device with many zones, one that has changed is read alone, and its ack is noted (I4, I7)")
  func manyZones() throws {
    try alice.sync((0..<100).map { .create("lists", alice.newID(), ["title": .string("\($0)")]) })
    try alice.pull()
    for _ in 0..<3 {
      _ = try bob.makeItem(list)
      try alice.pull()
    }
    for _ in 0..<3 {
      let item = try bob.makeItem(list)
      #expect(try !isReading(asked(alice)))
      #expect(alice.has("items", item))
      statements.texts.withLock { $0 = [] }
      try alice.sync()
      #expect(!isReading(statements.texts.withLock { $0 }))
      #expect(try asked(alice).count == 1)
    }
    #expect(try server.findings() == [])
  }

  @Test("what another server has written is in the next answer (I4, I7)") func otherServer() throws {
    let location = server.location
    let other = try TestServer(location: { _ in location })
    let ids = (0..<2).map { _ in server.world.id() }
    for id in ids {
      try becomeKnown(alice)
      bob.server = other
      try bob.sync([.create("items", id, ["list_id": .string(list), "title": "Tea"])])
      bob.server = server
      _ = try asked(alice)
      #expect(alice.has("items", id))
      try alice.pull()
    }
  }

  @Test("what a program has written is, too, and whom it has removed is told so (I4, I10)")
  func program() throws {
    let writer = try SQLWriter(server)
    try becomeKnown(alice)
    try becomeKnown(bob)
    try writer.run("INSERT INTO items (id, list_id, title) VALUES ('i1', '\(list)', 'Bread')")
    for device in [alice, bob] {
      _ = try asked(device)
      #expect(device.has("items", "i1"))
      try device.pull()
      try becomeKnown(device)
    }
    try writer.run("DELETE FROM holdfast.members WHERE zone = '\(list)' AND role <> 'owner'")
    #expect(try bob.apply(server.respond(to: bob.request([]))).lost == [list])
    try becomeKnown(alice)
    try writer.run("UPDATE holdfast.devices SET token_hash = NULL")
    #expect(try server.respond(to: alice.request([])).status == 401)
  }

  @Test("a session that has ended through the server is known no more (I10)") func endedSession() throws {
    for _ in 0..<4 { _ = try bob.makeItem(list) }
    try alice.pull()
    try becomeKnown(alice)
    _ = try server.signIn("alice", device: alice.id)
    #expect(try server.respond(to: alice.request([])).status == 401)
  }

  @Test("what a trigger of a team writes in the lane's transaction is noticed (I10)") func trigger() throws {
    try SQLWriter(server).run(
      """
      CREATE FUNCTION end_sessions() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.title = 'end' THEN UPDATE holdfast.devices SET token_hash = NULL WHERE account = '\(alice.user)'; END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER end_sessions AFTER INSERT ON items FOR EACH ROW EXECUTE FUNCTION end_sessions();
      """)
    for _ in 0..<4 { _ = try bob.makeItem(list) }
    try alice.pull()
    try becomeKnown(alice)
    _ = try bob.makeItem(list, "end")
    #expect(try server.respond(to: alice.request([])).status == 401)
  }

  @Test("what a rule of a team writes in the lane's transaction is noticed (I10)") func rule() throws {
    for _ in 0..<4 { _ = try bob.makeItem(list) }
    try SQLWriter(server).run(
      """
      CREATE RULE end_sessions AS ON UPDATE TO holdfast.zones WHERE NEW.zone = '\(list)'
      DO ALSO UPDATE holdfast.devices SET token_hash = NULL WHERE account = '\(alice.user)'
      """)
    try alice.pull()
    try becomeKnown(alice)
    _ = try bob.makeItem(list)
    #expect(try server.respond(to: alice.request([])).status == 401)
  }

  @Test("beside an open transaction of a program, a device is known until somebody writes (I7)")
  func openTransaction() throws {
    let writer = try SQLWriter(server)
    try writer.run(
      "BEGIN; INSERT INTO items (id, list_id, title) VALUES ('i1', '\(try alice.makeList())', 'Bread')")
    try alice.pull()
    try becomeKnown(alice)
    let item = try bob.makeItem(list)
    _ = try asked(alice)
    #expect(alice.has("items", item))
    try alice.pull()
    try becomeKnown(alice)
    try writer.run("COMMIT")
    _ = try asked(alice)
    #expect(alice.has("items", "i1"))
  }

  @Test("a device that asks beside the answer to its write sees what others have written since (I4, I10)")
  func besideWrite() throws {
    for _ in 0..<4 { _ = try bob.makeItem(list) }
    try alice.pull()
    let database = try #require(server.inline).api.database
    let token = TokenHash(of: alice.token)
    func isAsked(_ lookUps: [LookUp]) -> Bool {
      statements.texts.withLock { $0 = [] }
      database.together(lookUps) {
        _ = try? database.read { store in try store.device(token) }
      }
      return statements.texts.withLock { !$0.isEmpty }
    }
    let written = LookUp(token, .written(acks: [], created: []), written: 0)
    try becomeKnown(alice)
    #expect(!isAsked([written]))
    #expect(isAsked([written, LookUp(token, .none)]))
    #expect(isAsked([LookUp(token, .written(acks: [], created: []), written: .max)]))
    #expect(isAsked([LookUp(token, .written(acks: [], created: []))]))
    try SQLWriter(server).run("UPDATE holdfast.devices SET token_hash = NULL")
    var found: KnownDevice??
    database.together([written, LookUp(token, .none)]) {
      found = try? database.read { store in .some(try store.device(token)) }
    }
    if case .some(.none) = found { return }
    Issue.record("The session is good.")
  }

  @Test("an answer to a write has what was committed while the lane wrote (I6)") func besideLane() throws {
    let test = try PostgresReadCacheTests(life: .zero)
    let (server, alice, bob) = (test.server, test.alice, test.bob)
    let own = try alice.makeList()
    try alice.pull()
    for _ in 0..<4 {
      _ = try bob.makeItem(test.list)
      _ = try test.asked(alice)
      try alice.sync()
    }
    _ = try bob.makeItem(test.list)
    _ = try test.asked(alice)
    nonisolated(unsafe) let writer = try SQLWriter(server)
    test.statements.interrupt(before: "INSERT INTO holdfast.acks AS a") {
      try? writer.run("INSERT INTO items (id, list_id, title) VALUES ('i1', '\(own)', 'Bread')")
    }
    try alice.sync()
    #expect(alice.has("items", "i1"))
  }

  @Test("what is read while the lane writes is not taken for what it leaves (I4, I7)") func whileWriting()
    throws
  {
    for _ in 0..<4 { _ = try bob.makeItem(list) }
    try alice.pull()
    try becomeKnown(alice)
    let database = try #require(server.inline).api.database
    let token = TokenHash(of: alice.token)
    statements.interrupt(before: "pg_notify") {
      _ = try? database.read { store in try store.device(token).map { try store.zones(of: $0.key) } }
    }
    let item = try bob.makeItem(list)
    _ = try asked(alice)
    #expect(alice.has("items", item))
  }

  @Test("a commit whose outcome is unknown is found out by who reads next (I1, I2)") func inDoubt() throws {
    for _ in 0..<4 { _ = try bob.makeItem(list) }
    try alice.pull()
    try becomeKnown(alice)
    nonisolated(unsafe) let writer = try SQLWriter(server)
    let item = bob.newID()
    let request = bob.request([[.create("items", item, ["list_id": .string(list), "title": "Tea"])]])
    statements.interrupt(before: "COMMIT") {
      try? writer.run(
        """
        SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'holdfast writes'
        """)
    }
    _ = try server.respond(to: request)
    _ = try bob.apply(server.respond(to: request))
    try alice.pull()
    #expect(alice.has("items", item) && alice.all("items").count == 5)
  }
}
