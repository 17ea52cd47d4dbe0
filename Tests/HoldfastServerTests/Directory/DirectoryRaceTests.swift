import HoldfastConcurrency
import HoldfastCore
import HoldfastHTTP
import HoldfastPostgres
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer
@testable import HoldfastService

/// What happens at the same time in two databases and their directory: docs/DIRECTORY.md, sections 4 and 5.
@Suite struct DirectoryRaceTests {
  let scene: DirectoryScene
  let hour: Int64 = 3_600_000

  init() throws { scene = try DirectoryScene() }

  private var directory: Directory { get throws { try #require(scene.a.inline?.api.directory) } }

  // MARK: Claims

  @Test("a claim that a repeat takes while it is looked at stays")
  func renewed() throws {
    guard case .user(let first) = try directory.claim("bob", for: "one") else { throw NoClaim() }
    try scene.change("UPDATE holdfast_directory.names SET claimed = now() - interval '2 hours'")
    try directory.settleClaims { user in
      guard user == first, case .user(first) = try directory.claim("bob", for: "two") else { throw NoClaim() }
      return false
    }
    #expect(try scene.count("names WHERE name = 'bob' AND user_id = 'one'") == 1)
  }

  private struct NoClaim: Error {}

  @Test("a sign-up that stood still until its claim was removed makes no account")
  func stoodStill() throws {
    let signUp = try Steps(DirectoryScene.signUp("bob"), at: scene.a)
    signUp.take(2)
    #expect(try scene.count("names WHERE name = 'bob'") == 1)
    scene.a.world.advance(2 * hour)
    try scene.change("UPDATE holdfast_directory.names SET claimed = now() - interval '2 hours'")
    try scene.follow()
    _ = try scene.b.signUp("bob")
    let answer = try #require(signUp.take(4))
    #expect(answer.status == 503 && DirectoryScene.code(answer) == "busy")
    try scene.check()
  }

  @Test("a name that an erased guest had is free, also when somebody is called by the guest's id")
  func former() throws {
    let ann = try scene.a.signUp("ann")
    _ = try scene.guest(ann)
    let eve = try scene.b.signUp(ann.user)
    try RestClient(ann).send("DELETE", "/v1/account", ["password": "correct horse"])
    try directory.tell([], erased: [ann.user])
    let other = try scene.b.signUp("ann")
    try scene.follow()
    #expect(try DirectoryScene.isGood(other) && DirectoryScene.isGood(eve))
    try scene.check()
  }

  // MARK: Erasures

  @Test("a user who is erased while somebody shares with the name is no guest afterwards")
  func sharing() throws {
    let bob = try scene.b.signUp("bob")
    let list = try bob.makeList()
    for steps in 0..<6 {
      let name = "ann\(steps)"
      let ann = try scene.a.signUp(name)
      let member = Sent.create(
        "members", bob.newID(), ["zone": .string(list), "name": .string(name), "role": "editor"])
      let sharing = try Steps(bob.request([[member]]), at: scene.b)
      sharing.take(steps)
      try RestClient(ann).send("DELETE", "/v1/account", ["password": "correct horse"])
      try scene.follow()
      _ = try bob.apply(#require(sharing.take(6)))
      try scene.follow()
      let named = try scene.b.integer(
        "SELECT count(*) FROM holdfast_accounts WHERE name = '\(name)'",
        "SELECT count(*) FROM holdfast.accounts WHERE name = '\(name)'")
      #expect(named == 0, "after \(steps) steps")
      #expect(try scene.count("ends") == 0 && scene.count("presences") == 0)
      try scene.check()
    }
    for server in [scene.a, scene.b] { try #require(server.inline).purge() }
    try scene.check()
  }

  @Test("an erasure that waits for a request to the directory sees what that has stored")
  func waiting() throws {
    let ann = try scene.a.signUp("ann")
    // What a sharing in b does, up to its commit.
    let sharing = try PostgresConnection(scene.url)
    try sharing.execute(
      """
      BEGIN; UPDATE holdfast_directory.names SET is_served = true WHERE name = 'ann';
      INSERT INTO holdfast_directory.presences (user_id, database) VALUES ('\(ann.user)', 'b')
      """)
    let (directory, user, done) = (try directory, ann.user, Door())
    let thread = try startThread {
      try? directory.tell([], erased: [user])
      done.open()
    }
    let other = try PostgresConnection(scene.url)
    try blockUntil {
      try other.query(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
      ).int64(0, 0) > 0
    }
    try sharing.execute("COMMIT")
    done.wait()
    thread.join()
    #expect(try scene.count("ends WHERE database = 'b' AND user_id = '\(ann.user)'") == 1)
    #expect(try scene.count("presences") == 0 && scene.count("names") == 0)
  }

  // MARK: Ends

  @Test("an end waits until the database has done it")
  func undone() throws {
    let ann = try scene.a.signUp("ann")
    let guest = try scene.guest(ann)
    try RestClient(ann).send("DELETE", "/v1/sessions/current")
    try scene.a.inline?.followDirectory()
    let api = try #require(scene.b.inline).api
    let round = DirectoryRound(
      directory: try #require(api.directory), database: api.database, now: { api.clock.trusted.now() })
    // The disk is full, or the database away.
    #expect(try !round.run { _ in nil })
    #expect(try scene.count("ends") == 1)
    try scene.follow()
    #expect(try !DirectoryScene.isGood(guest))
    #expect(try scene.count("ends") == 0)
  }

  @Test("what is told again and again takes one row, and what is told later is not dropped with it (I11)")
  func toldAgain() throws {
    let ann = try scene.a.signUp("ann")
    _ = try scene.guest(ann)
    let end = EndedSession(device: ann.id, user: ann.user, session: 1)
    for _ in 0..<3 { try directory.tell([end], erased: []) }
    #expect(try scene.count("ends") == 1)
    let there = try #require(scene.b.inline?.api.directory)
    let (numbers, _) = try there.ends()
    try directory.tell([end], erased: [])
    try there.dropEnds(numbers)
    #expect(try scene.count("ends") == 1)
  }

  @Test("a sharing whose guest can't be stored now is sent again")
  func storing() throws {
    _ = try scene.a.signUp("ann")
    let bob = try scene.b.signUp("bob")
    let member = Sent.create(
      "members", bob.newID(), ["zone": .string(try bob.makeList()), "name": "ann", "role": "editor"])
    let request = bob.request([[member]])
    let sharing = try Steps(request, at: scene.b)
    sharing.failFirst()
    #expect(try #require(sharing.take(6)).status == 503)
    #expect(try bob.apply(scene.b.respond(to: request)).refused.isEmpty)
  }
}
