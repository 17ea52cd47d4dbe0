import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Synchronization
import TemporaryPostgres
import Testing

@testable import HoldfastServer
@testable import HoldfastService

/// What PostgreSQL is asked for requests that come together, or again.
@Suite("Requests that are looked up together")
struct LookUpTests {
  private final class Statements: Sendable {
    let texts = Mutex<[String]>([])

    /// Those that `body` sends.
    func of<Result>(_ body: () throws -> Result) rethrows -> (Result, [String]) {
      texts.withLock { $0 = [] }
      let result = try body()
      return (result, texts.withLock { $0 })
    }
  }

  private let statements = Statements()
  private let server: TestServer

  init() throws { server = try Self.server(TemporaryPostgres.shared, statements) }

  private static func server(_ cluster: TemporaryPostgres, _ statements: Statements) throws -> TestServer {
    try TestServer(
      location: { _ in
        var location = PostgresLocation(try cluster.makeDatabase())
        location.onStatement = { text in statements.texts.withLock { $0.append(text) } }
        return .postgres(location)
      })
  }

  /// Answers requests of devices together.
  private func together(_ devices: [TestDevice], on server: TestServer) throws -> [HTTPResponse] {
    let api = try #require(server.inline).api
    let lookUps = devices.map { LookUp(TokenHash(of: $0.token), .all(acks: [])) }
    var answers: [HTTPResponse] = []
    var failure: (any Error)?
    api.database.together(lookUps) {
      for device in devices {
        do { answers.append(try server.respond(to: device.request([]))) } catch { failure = error }
      }
    }
    if let failure { throw failure }
    return answers
  }

  @Test(
    "devices with changes of records of two tables are read by two pipelines, however many they are (I4, I10)"
  )
  func manyDevices() throws {
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    let others = try (0..<8).map { try server.signUp("user\($0)") }
    for (number, other) in others.enumerated() {
      // The last is a stranger.
      if number < 7 { _ = try alice.share(list, with: "user\(number)") }
      try other.pull()
    }
    let item = try alice.makeItem(list, "Milk")
    try alice.sync([.update("lists", list, ["title": "Market"])])
    let (answers, asked) = try statements.of { try together(others, on: server) }
    // The history, the devices and their zones, twice; the changes of the one zone in each table that it has.
    #expect(asked.count <= 6 + 4, "\(asked)")
    for (number, (other, answer)) in zip(others, answers).enumerated() {
      _ = try other.apply(answer)
      #expect(other.has("items", item) == (number < 7))
      #expect(number == 7 || other.column("lists", list, "title") == "Market")
    }
  }

  @Test("a request that fails leaves the others of its batch alone (I12)")
  func failing() throws {
    let (alice, bob) = (try server.signUp("alice"), try server.signUp("bob"))
    let list = try alice.makeList()
    try alice.pull()
    let api = try #require(server.inline).api
    var found: (KnownDevice?, Bool) = (nil, false)
    api.database.together([
      LookUp(TokenHash(of: alice.token), .none), LookUp(TokenHash(of: bob.token), .none),
    ]) {
      found.1 =
        (try? api.database.read { store in try store.moment { _ = try store.user(named: "a\u{0}") } }) == nil
      found.0 = try? api.database.read { try $0.device(TokenHash(of: alice.token)) }
    }
    #expect(found.0 != nil && found.1)
    #expect(try bob.makeList().isEmpty == false && list.isEmpty == false)
  }

  @Test("what one device was sent of a zone is not read again for the next, until the zone changes (I4, I7)")
  func sameChanges() throws {
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    let (bob, carol) = (try server.signUp("bob"), try server.signUp("carol"))
    for name in ["bob", "carol"] { _ = try alice.share(list, with: name) }
    for device in [bob, carol] { try device.pull() }
    let item = try alice.makeItem(list, "Milk")
    _ = try bob.apply(server.respond(to: bob.request([])))
    let (answer, asked) = try statements.of { try server.respond(to: carol.request([])) }
    #expect(asked.allSatisfy { !$0.contains("FROM holdfast.records r") }, "\(asked)")
    _ = try carol.apply(answer)
    #expect(carol.column("items", item, "title") == "Milk")
    try SQLWriter(server).run("UPDATE items SET title = 'Oat milk'")
    for device in [bob, carol] {
      try device.pull()
      #expect(device.column("items", item, "title") == "Oat milk")
    }
  }

  @Test("while nobody writes, a device that has everything costs one statement; a write by SQL is seen (I7)")
  func quiet() throws {
    // Of its own: others write to the one that is shared.
    let cluster = try TemporaryPostgres()
    let server = try Self.server(cluster, statements)
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    let item = try alice.makeItem(list, "Milk")
    try alice.pull()
    for _ in 0..<3 { _ = try alice.apply(server.respond(to: alice.request([]))) }
    let (answer, asked) = try statements.of { try together([alice], on: server) }
    #expect(asked.count == 1, "\(asked)")
    #expect(try alice.apply(answer[0]).parts.isEmpty)
    try SQLWriter(server).run("UPDATE items SET title = 'Oat milk' WHERE id = '\(item)'")
    _ = try alice.apply(together([alice], on: server)[0])
    #expect(alice.column("items", item, "title") == "Oat milk")
  }
}
