import HoldfastCore
import HoldfastHTTP
import HoldfastPostgres
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer
@testable import HoldfastService

/// A directory that was restored, and databases that joined in part: docs/DIRECTORY.md, sections 6 and 8.
@Suite struct DirectoryCheckTests {
  let scene: DirectoryScene
  let ann: TestDevice

  init() throws {
    scene = try DirectoryScene()
    ann = try scene.a.signUp("ann")
  }

  private func check(_ server: TestServer, repairs: Bool = false) throws -> [String] {
    try scene.administration.check(Administration(server.location), repairs: repairs)
  }

  @Test("presences that a restored directory lacks are put back: the guest hears of ends again (I10)")
  func presences() throws {
    let guest = try scene.guest(ann)
    try scene.change("DELETE FROM holdfast_directory.presences")
    #expect(try check(scene.b).count == 1)
    #expect(try check(scene.b, repairs: true) == [])
    try scene.check()
    try RestClient(ann).send("DELETE", "/v1/sessions/current")
    try scene.follow()
    #expect(try !DirectoryScene.isGood(guest))
  }

  @Test("a restored directory hears again of users who were erased, in whatever order it is repaired")
  func erasures() throws {
    for isHomeFirst in [false, true] {
      let name = isHomeFirst ? "carl" : "bob"
      let user = try scene.a.signUp(name)
      _ = try scene.guest(user)
      try RestClient(user).send("DELETE", "/v1/account", ["password": "correct horse"])
      let directory = try #require(scene.a.inline?.api.directory)
      try directory.tell([], erased: [user.user])
      _ = scene.a.inline?.service.apply([.told([], erased: [user.user])])
      // The directory comes from before the erasure and the pass.
      try scene.change(
        """
        DELETE FROM holdfast_directory.ends;
        INSERT INTO holdfast_directory.names (name, user_id, home, is_served)
        VALUES ('\(name)', '\(user.user)', 'a', true)
        """)
      #expect(try check(scene.a).count == 1 && check(scene.b).count == 1)
      for server in isHomeFirst ? [scene.a, scene.b, scene.a] : [scene.b, scene.a] {
        _ = try check(server, repairs: true)
      }
      #expect(try scene.count("ends") == 1)
      try scene.follow()
      try scene.check()
      let named = try scene.b.integer(
        "SELECT count(*) FROM holdfast_accounts WHERE name = '\(name)'",
        "SELECT count(*) FROM holdfast.accounts WHERE name = '\(name)'")
      #expect(named == 0)
    }
  }

  @Test("a guest whom no home has is named, and stays")
  func homeless() throws {
    let guest = try scene.guest(ann)
    try scene.change("DELETE FROM holdfast_directory.names")
    let lines = try check(scene.b, repairs: true)
    #expect(lines.count == 1 && lines[0].contains("ann") && lines[0].contains(ann.user))
    #expect(try check(scene.a, repairs: true) == [])
    try scene.check()
    #expect(try DirectoryScene.isGood(guest))
  }

  @Test("an account that was renamed between two attempts to join has its new name")
  func renamed() throws {
    let c = try TestServer()
    let carl = try c.signUp("carl")
    let administration = try Administration(c.location)
    // Killed before the database has noted that it joined.
    try scene.change(
      """
      INSERT INTO holdfast_directory.databases (name, url, identity)
      VALUES ('c', 'https://c.example.org', '\(administration.identity())');
      INSERT INTO holdfast_directory.names (name, user_id, home, is_served) VALUES ('carl', '\(carl.user)', 'c', true)
      """)
    try administration.rename("carl", to: "carla")
    #expect(try scene.join(c, as: "c").claimed == 1)
    #expect(try scene.administration.check(administration, repairs: false) == [])
    #expect(try scene.count("names WHERE name = 'carl'") == 0)
  }

  @Test("a copy of a database does not join under another name")
  func copied() throws {
    let c = try TestServer()
    let carl = try c.signUp("carl")
    // The other database has the account under another name.
    try scene.change(
      "INSERT INTO holdfast_directory.names (name, user_id, home) VALUES ('carla', '\(carl.user)', 'a')")
    #expect(try scene.join(c, as: "c").taken == ["carl"])
    #expect(try scene.count("databases") == 2)
  }

  @Test("a server that started before its database joined takes no sign-ups")
  func joinedSince() throws {
    let c = try TestServer()
    _ = try c.signUp("carl")
    #expect(try scene.join(c, as: "c").claimed == 1)
    let answer = try c.respond(to: DirectoryScene.signUp("ann"))
    #expect(answer.status == 503 && DirectoryScene.code(answer) == "directory-unavailable")
    _ = try c.signIn("carl")
  }

  @Test("a copy that starts while the directory is lost is refused by it later")
  func copyOfLost() throws {
    let log = TestServer.Failures()
    let directory = Directory(
      DirectoryConfiguration(scene.url), name: "a", identity: "another place"
    ) { line in log.lines.withLock { $0.append(line) } }
    defer { directory.close() }
    #expect(throws: Problem.self) { try directory.user(named: "ann") }
    #expect(throws: Problem.self) { try directory.tell([], erased: [ann.user]) }
    #expect(throws: ServerError.self) { try directory.verify() }
    #expect(log.lines.withLock { $0.count == 1 && $0[0].contains("this is a copy of it") })
    #expect(try scene.count("names") == 1)
  }
}
