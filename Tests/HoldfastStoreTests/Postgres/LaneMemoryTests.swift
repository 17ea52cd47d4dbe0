import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Synchronization
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// Writes that rely on what the writes before have read, while nobody else writes.
@Suite(.serialized) struct LaneMemoryTests {
  /// What the server sends, and what happens right before.
  private final class Statements: Sendable {
    let texts = Mutex<[String]>([])
    let beforeBegin = Mutex<(@Sendable () -> Void)?>(nil)
    /// What happens before the slow lane locks zones.
    let beforeLock = Mutex<(@Sendable () -> Void)?>(nil)

    func add(_ text: String) {
      texts.withLock { $0.append(text) }
      if text == "BEGIN ISOLATION LEVEL READ COMMITTED" { Self.take(beforeBegin) }
      if text.contains("FOR NO KEY UPDATE OF z"), !text.contains("SKIP LOCKED") { Self.take(beforeLock) }
    }

    private static func take(_ action: borrowing Mutex<(@Sendable () -> Void)?>) {
      action.withLock { action in
        defer { action = nil }
        return action
      }?()
    }
  }

  private let statements = Statements()
  private let server: TestServer
  // Of its own: the numbers of transactions are those of the cluster.
  private static let cluster = Result { try TemporaryPostgres() }

  init() throws { server = try Self.serve(nil, statements) }

  /// - Parameter life: how long after the last use of the connection the memory is relied on.
  private static func serve(
    _ schema: SyncSchema?, _ statements: Statements, life: Duration = .seconds(3600)
  ) throws -> TestServer {
    let cluster = try Self.cluster.get()
    return try TestServer(
      schema,
      location: { _ in
        var location = PostgresLocation(try cluster.makeDatabase())
        location.onStatement = { statements.add($0) }
        location.memoryLife = life
        return .postgres(location)
      })
  }

  /// Whether a write locks and reads nothing before.
  private func isFromMemory(_ write: () throws -> Void) rethrows -> Bool {
    statements.texts.withLock { $0 = [] }
    try write()
    return statements.texts.withLock { texts in
      texts.filter { $0.contains("BEGIN ISOLATION LEVEL READ COMMITTED") }.count == 1
        && !texts.contains { $0.contains("FOR NO KEY UPDATE") }
    }
  }

  /// Makes items until one needs nothing that is not known.
  private func becomeQuiet(_ device: TestDevice, _ list: String) throws {
    for _ in 0..<10 where try isFromMemory({ _ = try device.makeItem(list) }) { return }
    Issue.record("Each write asks the database.")
  }

  @Test("while nobody else writes, a new record is written without a look-up, in one round trip")
  func relies() throws {
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    try becomeQuiet(alice, list)
    let item = try alice.makeItem(list, "Milk")
    try alice.pull()
    #expect(alice.column("items", item, "title") == "Milk")
    #expect(try server.findings() == [])
  }

  @Test("rows that are read on demand do not end it; what is written besides does") func onDemand() throws {
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    try becomeQuiet(alice, list)
    // A unique value is looked up, and what refers to a deleted record.
    let tag = alice.newID()
    try alice.sync([.create("tags", tag, ["list_id": .string(list), "name": "new"])])
    #expect(try isFromMemory { _ = try alice.makeItem(list) })
    try alice.sync([.delete("tags", tag)])
    #expect(try isFromMemory { _ = try alice.makeItem(list) })
    _ = try server.signIn("alice")
    #expect(try !isFromMemory { _ = try alice.makeItem(list) })
    try alice.pull()
    #expect(!alice.has("tags", tag) && alice.all("items").count >= 3)
    #expect(try server.findings() == [])
  }

  @Test("after a silence of the connection a write asks first, so a lost one is found before the commit")
  func silence() throws {
    let server = try Self.serve(nil, statements, life: .zero)
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    for _ in 0..<8 { #expect(try !isFromMemory { _ = try alice.makeItem(list) }) }
  }

  @Test("a connection that the database has closed is opened again, and the write is answered")
  func closedConnection() throws {
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    try becomeQuiet(alice, list)
    let writer = try SQLWriter(server)
    try writer.run(
      """
      SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE 'holdfast %'
      """)
    #expect(
      try alice.sync([.create("items", alice.newID(), ["list_id": .string(list), "title": "Tea"])]).refused
        .isEmpty)
  }

  /// A second server on the database, and devices' ids of items to make there.
  private func another(_ count: Int) throws -> (server: TestServer, ids: [String]) {
    let location = server.location
    return (try TestServer(location: { _ in location }), (0..<count).map { _ in server.world.id() })
  }

  private func epoch() throws -> [String] {
    try SQLWriter(server).texts("SELECT value FROM holdfast.meta WHERE key = 'epoch'")
  }

  @Test("what another server has confirmed to a device since is no sign that the history went back (I2, I3)")
  func otherServer() throws {
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    try becomeQuiet(alice, list)
    let (other, ids) = try another(3)
    let before = try epoch()
    try becomeQuiet(alice, list)
    alice.server = other
    for id in ids { try alice.sync([.create("items", id, ["list_id": .string(list), "title": "Tea"])]) }
    alice.server = server
    let item = try alice.makeItem(list)
    try alice.pull()
    #expect(alice.has("items", item) && ids.allSatisfy { alice.has("items", $0) })
    #expect(try epoch() == before)
  }

  @Test("nor is what another server has proved of a zone since (I2, I3)") func otherProof() throws {
    let (alice, bob) = (try server.signUp("alice"), try server.signUp("bob"))
    let list = try alice.makeList()
    _ = try alice.share(list, with: "bob")
    for device in [alice, bob] { try device.pull() }
    let (other, ids) = try another(3)
    let before = try epoch()
    try becomeQuiet(alice, list)
    bob.server = other
    for id in ids { try bob.sync([.create("items", id, ["list_id": .string(list), "title": "Tea"])]) }
    alice.server = other
    try alice.pull()
    alice.server = server
    alice.wanted = [list]
    let item = try alice.makeItem(list)
    try alice.pull()
    #expect(alice.has("items", item) && ids.allSatisfy { alice.has("items", $0) })
    #expect(try epoch() == before)
  }

  @Test(
    "what a team's trigger writes in the same transaction is not written over, whatever its name (I3, I7)",
    arguments: ["count_part", "holdfast_count_part"])
  func trigger(_ name: String) throws {
    let server = try Self.serve(MergeSchema.schema(), statements)
    try SQLWriter(server).run(
      """
      CREATE FUNCTION count_part() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        UPDATE items SET votes = coalesce(votes, 0) + 1 WHERE id = NEW.item_id; RETURN NULL; END $$;
      CREATE TRIGGER \(name) AFTER INSERT ON parts FOR EACH ROW EXECUTE FUNCTION count_part();
      """)
    let alice = try server.signUp("alice")
    let (list, item) = (try alice.makeList(), alice.newID())
    try alice.sync([.create("items", item, ["list_id": .string(list), "votes": 0])])
    for _ in 0..<6 { try alice.sync([.create("parts", alice.newID(), ["item_id": .string(item)])]) }
    try alice.sync([.update("items", item, ["votes": 1], base: ["votes": 0])])
    #expect(try SQLWriter(server).texts("SELECT votes::text FROM items") == ["7"])
  }

  @Test("what a program has written since is not written over (I4, I7)") func otherWriter() throws {
    let (alice, bob) = (try server.signUp("alice"), try server.signUp("bob"))
    let list = try alice.makeList()
    _ = try alice.share(list, with: "bob")
    try becomeQuiet(alice, list)
    let writer = try SQLWriter(server)
    try writer.run("INSERT INTO items (id, list_id, title) VALUES ('i1', '\(list)', 'Bread')")
    let item = try alice.makeItem(list, "Milk")
    for device in [alice, bob] {
      try device.pull()
      #expect(device.has("items", "i1") && device.has("items", item))
    }
    #expect(try server.findings() == [])
  }

  @Test("the same holds for what is written while the write is under way (I4, I7)") func meanwhile() throws {
    let (alice, bob) = (try server.signUp("alice"), try server.signUp("bob"))
    let list = try alice.makeList()
    _ = try alice.share(list, with: "bob")
    try becomeQuiet(alice, list)
    let writer = try SQLWriter(server)
    nonisolated(unsafe) let other = writer
    statements.beforeBegin.withLock {
      $0 = {
        try? other.run("INSERT INTO items (id, list_id, title) VALUES ('i1', '\(list)', 'Bread')")
      }
    }
    let item = try alice.makeItem(list, "Milk")
    for device in [alice, bob] {
      try device.pull()
      #expect(device.has("items", "i1") && device.has("items", item))
    }
    #expect(try server.findings() == [])
  }

  @Test("a member whom a program has removed since writes nothing (I10)") func removedMember() throws {
    let (alice, bob) = (try server.signUp("alice"), try server.signUp("bob"))
    let list = try alice.makeList()
    _ = try alice.share(list, with: "bob")
    try bob.pull()
    try becomeQuiet(bob, list)
    try SQLWriter(server).run(
      "DELETE FROM holdfast.members WHERE zone = '\(list)' AND role <> 'owner'")
    let problem = try bob.refused(
      .create("items", bob.newID(), ["list_id": .string(list), "title": "Milk"]))
    #expect(problem.code == .referenceMissing)
  }

  @Test("nor does one who was a member by a group (I10)") func removedFromGroup() throws {
    let (alice, bob) = (try server.signUp("alice"), try server.signUp("bob"))
    let (list, group) = (try alice.makeList(), try alice.makeList("Friends"))
    _ = try alice.share(group, with: "bob")
    try alice.sync([
      .create(
        "members", alice.newID(), ["zone": .string(list), "group": .string(group), "role": "editor"])
    ])
    try bob.pull()
    try becomeQuiet(bob, list)
    // The row of the list's zone stays as it is.
    try SQLWriter(server).run(
      "DELETE FROM holdfast.members WHERE zone = '\(group)' AND role <> 'owner'")
    let problem = try bob.refused(
      .create("items", bob.newID(), ["list_id": .string(list), "title": "Milk"]))
    #expect(problem.code == .referenceMissing)
  }

  @Test("a device whose session has ended since writes nothing (I10)") func endedSession() throws {
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    try becomeQuiet(alice, list)
    try SQLWriter(server).run("UPDATE holdfast.devices SET token_hash = NULL")
    let item = alice.newID()
    let set = [Sent.create("items", item, ["list_id": .string(list), "title": "Milk"])]
    #expect(try server.respond(to: alice.request([set])).status == 401)
    #expect(try SQLWriter(server).texts("SELECT id FROM items WHERE id = '\(item)'").isEmpty)
  }

  /// Creates of items with new ids behind others.
  private func creates(_ ids: [String], with others: Int, _ list: String, by device: TestDevice) -> [Sent] {
    (ids + (0..<others).map { _ in device.newID() }).map {
      .create("items", $0, ["list_id": .string(list), "title": "Milk"], at: Stamp(milliseconds: 1))
    }
  }

  @Test(
    "a create of a record that was deleted does not bring it back in another zone, however many are with it (I8)",
    arguments: [0, 2, 40])
  func deleted(others: Int) throws {
    let alice = try server.signUp("alice")
    let (list, second) = (try alice.makeList(), try alice.makeList("Second"))
    let item = try alice.makeItem(list)
    let other = try server.signIn("alice")
    try other.pull()
    try alice.sync([.delete("items", item)])
    for list in [list, second] { try becomeQuiet(other, list) }
    #expect(
      try !isFromMemory { _ = try other.sync(creates([item], with: others, second, by: other)) })
    try other.pull()
    #expect(!other.has("items", item) && other.all("items").count > others)
    #expect(try server.findings() == [])
  }

  @Test("records are made without a look-up where others have ids between theirs", arguments: [0, 40])
  func idsBetween(others: Int) throws {
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    let item = alice.newID()
    try becomeQuiet(alice, list)
    #expect(try isFromMemory { _ = try alice.sync(creates([item], with: others, list, by: alice)) })
    try alice.pull()
    #expect(alice.has("items", item))
    #expect(try server.findings() == [])
  }

  // MARK: Answers

  /// Whether an answer was made without a question to the database.
  private func isKnown(_ device: TestDevice, _ set: Sent) throws -> (isKnown: Bool, answer: SyncAnswer) {
    statements.texts.withLock { $0 = [] }
    let answer = try device.sync([set])
    let asked = statements.texts.withLock { texts in texts.contains { $0.contains("FROM holdfast.devices d") }
    }
    return (!asked, answer)
  }

  private func item(_ device: TestDevice, _ list: String) -> Sent {
    .create("items", device.newID(), ["list_id": .string(list), "title": "Milk", "done": false])
  }

  /// Makes items until the answer to one is made without a question.
  private func becomeKnown(_ device: TestDevice, _ list: String) throws {
    device.takesAsSent = true
    for _ in 0..<10 where try isKnown(device, item(device, list)).isKnown { return }
    Issue.record("Each answer asks the database.")
  }

  @Test("the answer to a create that is kept as it was sent asks nothing, and is complete (I7)")
  func answer() throws {
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    try alice.pull()
    try becomeKnown(alice, list)
    let before = alice.confirmed
    let (isKnown, answer) = try isKnown(alice, item(alice, list))
    #expect(isKnown && answer.confirmed == before + 1 && !answer.mustResend)
    let part = try #require(answer.parts.first)
    #expect(answer.parts.count == 1 && part.zone == list && !part.hasMore)
    alice.takesAsSent = false
    try alice.pull()
    let other = try server.signIn("alice")
    try other.pull()
    #expect(alice.acks[list] == other.acks[list])
    #expect(try server.findings() == [])
  }

  @Test("a refusal is in the answer, whatever was known (I12)") func refusedAnswer() throws {
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    try alice.pull()
    try becomeKnown(alice, list)
    let long = JSONValue.string(String(repeating: "x", count: 30))
    #expect(try alice.refused(.update("lists", list, ["title": long])).code == .valueTooLong)
    let wrong = Sent.create(
      "items", alice.newID(), ["list_id": .string(list), "title": "Milk", "amount": 99])
    _ = try alice.refused(wrong)
  }

  @Test("the answer to a write that the slow lane has made is not of the state before (I1, I2)")
  func slowAnswer() throws {
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    try alice.pull()
    try becomeKnown(alice, list)
    let before = alice.confirmed
    let writer = try SQLWriter(server)
    try writer.run("BEGIN; SELECT FROM holdfast.zones WHERE zone = '\(list)' FOR UPDATE")
    nonisolated(unsafe) let other = writer
    statements.beforeLock.withLock { $0 = { try? other.run("COMMIT") } }
    #expect(try isKnown(alice, item(alice, list)).answer.confirmed == before + 1)
    #expect(statements.beforeLock.withLock { $0 == nil })
  }

  @Test("who has lost a zone since is told so (I10)") func lossInAnswer() throws {
    let (alice, bob) = (try server.signUp("alice"), try server.signUp("bob"))
    let (list, own) = (try alice.makeList(), try bob.makeList())
    let membership = try alice.share(list, with: "bob")
    for device in [alice, bob] { try device.pull() }
    try becomeKnown(bob, own)
    try alice.sync([.delete("members", membership)])
    #expect(try isKnown(bob, item(bob, own)).answer.lost == [list])
  }

  @Test("what others have made is in the answer to a write after it (I7)") func othersInAnswer() throws {
    let (alice, bob) = (try server.signUp("alice"), try server.signUp("bob"))
    let list = try alice.makeList()
    _ = try alice.share(list, with: "bob")
    for device in [alice, bob] { try device.pull() }
    for device in [alice, bob, alice, bob] { try becomeKnown(device, list) }
    for _ in 0..<3 {
      let made = bob.newID()
      try bob.sync([.create("items", made, ["list_id": .string(list), "title": "Tea"])])
      try alice.sync([item(alice, list)])
      #expect(alice.has("items", made))
    }
    #expect(try server.findings() == [])
  }
}
