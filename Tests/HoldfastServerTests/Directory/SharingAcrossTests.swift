import HoldfastCore
import HoldfastHTTP
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// Sharing by name with users of another home: docs/DIRECTORY.md, section 4.
@Suite struct SharingAcrossTests {
  let scene: DirectoryScene
  let ann: TestDevice
  let bob: TestDevice
  let list: String

  init() throws {
    scene = try DirectoryScene()
    ann = try scene.a.signUp("ann")
    bob = try scene.b.signUp("bob")
    list = try bob.makeList()
  }

  private func member(_ name: String) -> Sent {
    .create("members", bob.newID(), ["zone": .string(list), "name": .string(name), "role": "editor"])
  }

  @Test("a user of another home becomes a guest, and finds the membership (I10)", arguments: [false, true])
  func sharing(_ isRest: Bool) throws {
    #expect(try RestClient(bob).get("/v1/users?name=ann").json["id"] == .string(ann.user))
    if isRest {
      let body: JSONValue = ["zone": .string(list), "columns": ["name": "ann", "role": "editor"]]
      #expect(try RestClient(bob).send("POST", "/v1/tables/members", body).status == 201)
    } else {
      #expect(try bob.sync([member("ann")]).refused.isEmpty)
    }
    let databases = try RestClient(ann).get("/v1/databases").json["databases"]?.elements ?? []
    #expect(databases.map { $0["is_member"] } == [true, true])
    let guest = try scene.guest(ann)
    try guest.pull()
    #expect(!guest.has("lists", list), "a stranger's membership waits for consent")
    let waiting = try RestClient(guest).get("/v1/memberships").json["memberships"]?.elements ?? []
    let id = try #require(waiting.first?["id"]?.stringValue)
    #expect(try RestClient(guest).send("POST", "/v1/memberships/\(id)/accept").status < 300)
    try guest.pull()
    #expect(guest.has("lists", list))
    try scene.check()
  }

  @Test("a name that nobody has is refused, and the rest of the request is not (I12)")
  func nobody() throws {
    let answer = try bob.sync([member("nobody")], [.create("lists", bob.newID(), ["title": "More"])])
    #expect(answer.refused.count == 1)
    #expect(answer.refused.first.flatMap { Problem(document: $0.problem) }?.code == .userUnknown)
    #expect(try RestClient(bob).get("/v1/users?name=nobody").status == 404)
    #expect(try scene.count("presences") == 0)
  }

  @Test("a sharing that is ended at any step is sent again (I1)")
  func killed() throws {
    let request = bob.request([[member("ann")]])
    for steps in 0..<6 { _ = try DirectoryScene.kill(scene.b, after: steps, of: request) }
    #expect(try bob.apply(scene.b.respond(to: request)).refused.isEmpty)
    let count = try scene.b.integer(
      "SELECT count(*) FROM members WHERE name = 'ann'",
      "SELECT count(*) FROM holdfast.members WHERE name = 'ann'")
    #expect(count == 1)
    try scene.check()
  }

  @Test("without the directory only sharing with unknown names is refused, of that change set alone (I12)")
  func lost() throws {
    let carl = try scene.b.signUp("carl")
    // A directory that nobody reaches: port 1 is refused.
    scene.b.directory = DirectoryConfiguration("postgres://nobody@127.0.0.1:1/none")
    try scene.b.reopen()
    let more = bob.newID()
    let answer = try bob.sync(
      [member("ann")], [member("carl")], [.create("lists", more, ["title": "More"])])
    #expect(answer.refused.count == 1)
    #expect(answer.refused.first.flatMap { Problem(document: $0.problem) }?.code == .userUnreachable)
    try carl.pull()
    #expect(try RestClient(carl).get("/v1/memberships").json["memberships"]?.elements?.count == 1)
    let body: JSONValue = ["zone": .string(list), "columns": ["name": "ann", "role": "editor"]]
    #expect(try RestClient(bob).send("POST", "/v1/tables/members", body).code == "user-unreachable")
    #expect(try RestClient(bob).get("/v1/users?name=ann").status == 503)
  }
}
