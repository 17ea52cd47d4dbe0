import HoldfastCore
import ServerScenes
import Testing

@testable import HoldfastServer
@testable import HoldfastService

/// The origins of carried change sets, when their zone moves: docs/MOVING.md, section 4. Invariant I1.
@Suite struct ZoneOriginTests {
  let scene: DirectoryScene
  let ann: TestDevice
  let list: String

  init() throws {
    scene = try DirectoryScene()
    ann = try scene.a.signUp("ann")
    list = try ann.makeList()
  }

  private func move(back: Bool = false) throws {
    _ = try ZoneMoveTests.moving(scene, back: back).move(list)
  }

  private func origins(_ server: TestServer) throws -> Int64? {
    try server.integer("SELECT count(*) FROM holdfast_carried", "SELECT count(*) FROM holdfast.carried")
  }

  private func item(_ device: TestDevice) -> Sent {
    .create("items", device.newID(), ["list_id": .string(list), "title": "Milk"])
  }

  @Test("a move takes them along, there and back: a copy that comes later has no second effect (I1)")
  func along() throws {
    #expect(try ann.carry("a1", item(ann)) == nil)
    try move()
    let guest = try scene.guest(ann)
    try guest.pull()
    #expect(try guest.carry("a1", item(guest)) == .alreadyApplied)
    #expect(try guest.carry("b1", item(guest)) == nil)
    #expect(try ann.carry("b1", item(ann)) == .zoneMoved, "it is for the other database to say")
    #expect(try ann.carry("a1", item(ann)) == .zoneMoved)
    try move(back: true)
    for origin in ["a1", "b1"] { #expect(try ann.carry(origin, item(ann)) == .alreadyApplied) }
    try ann.pull()
    #expect(ann.all("items").count == 2)
    try scene.check()
  }

  @Test("many of them move, of the users that the other database knows") func many() throws {
    let bob = try scene.a.signUp("bob")
    let membership = try ann.share(list, with: "bob")
    try bob.pull()
    #expect(try bob.carry("b1", item(bob)) == nil)
    try ann.sync([.delete("members", membership, rev: 1)])
    let sql = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1500) "
    try scene.a.change(
      sqlite: "INSERT INTO holdfast_carried \(sql)SELECT '\(ann.user)', 'o' || n, '\(list)', 1 FROM n",
      postgres: "INSERT INTO holdfast.carried \(sql)SELECT '\(ann.user)', 'o' || n, '\(list)', 1 FROM n")
    try move()
    #expect(try origins(scene.b) == 1500)
    #expect(try scene.guest(ann).carry("o1234", item(ann)) == .alreadyApplied)
  }

  @Test("what is left of them in the first database is dropped with the records") func dropped() throws {
    #expect(try ann.carry("a1", item(ann)) == nil)
    try move()
    #expect(try origins(scene.a) == 1)
    try Administration(scene.a.location, environment: scene.a.world.environment).drop(list)
    #expect(try origins(scene.a) == 0)
    #expect(try origins(scene.b) == 1)
  }
}
