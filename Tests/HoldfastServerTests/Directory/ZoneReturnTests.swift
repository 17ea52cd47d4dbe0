import HoldfastCore
import ServerScenes
import Testing

@testable import HoldfastServer
@testable import HoldfastService

/// Zones that come back, and moves the other way round: docs/MOVING.md.
@Suite struct ZoneReturnTests {
  let scene: DirectoryScene
  let ann: TestDevice
  let list: String
  let milk: String

  init() throws {
    scene = try DirectoryScene()
    ann = try scene.a.signUp("ann")
    list = try ann.makeList()
    milk = try ann.makeItem(list)
  }

  private func moving(back: Bool = false) throws -> ZoneMoving { try ZoneMoveTests.moving(scene, back: back) }

  private func place(_ server: TestServer) throws -> ZonePlace? {
    try Administration(server.location).place(of: list)
  }

  @Test("a cancellation that was interrupted goes on from the database that has the records alone (I2, I6)")
  func cancelledFromThere() throws {
    let (a, b) = (scene.a, scene.b)
    try ZoneMoveTests.letGo(list, a)
    try Administration(b.location, environment: b.world.environment).change(.move) { work, _, _ in
      try ZoneMoves(work).refuse(list, stayingIn: "a", number: 1)
    }
    // As if b had let it go: nothing of the zone is there.
    #expect(throws: ServerError.self) { try moving(back: true).cancel(list) }
    #expect(throws: ServerError.self) { _ = try moving(back: true).move(list) }
    #expect(try place(b)?.leftFor == "a")
    #expect(throws: ServerError.self) { _ = try moving().move(list) }
    try moving().cancel(list)
    #expect(try place(a)?.leftFor == nil)
    #expect(try moving().move(list)?.records == 3)
    try scene.check()
  }

  @Test("what may not have arrived is not dropped, and a command with an older number lets nothing go (I2)")
  func notArrived() throws {
    let source = try Administration(scene.a.location, environment: scene.a.world.environment)
    try ZoneMoveTests.letGo(list, scene.a)
    #expect(throws: ServerError.self) { try source.drop(list) }
    #expect(try moving().move(list)?.records == 3)
    #expect(try moving(back: true).move(list)?.records == 3)
    #expect(throws: ServerError.self) { try ZoneMoveTests.letGo(list, scene.a, number: 2) }
    #expect(try moving().move(list)?.records == 3)
    try source.drop(list)
    #expect(try moving(back: true).move(list)?.records == 3)
    try scene.check()
  }

  @Test("a change token of before a zone left is fenced when it comes back: records have left it since (I4)")
  func departed() throws {
    let token = try #require(try RestClient(ann).get("/v1/zones/\(list)/changes").json["to"]?.stringValue)
    _ = try moving().move(list)
    let guest = try scene.guest(ann)
    let other = try guest.makeList()
    try guest.pull()
    try guest.sync([.update("items", milk, ["list_id": .string(other)], rev: 1)])
    _ = try moving(back: true).move(list)
    #expect(try RestClient(ann).get("/v1/zones/\(list)/changes?since=\(token)").code == "token-fenced")
    let whole = try RestClient(ann).get("/v1/zones/\(list)/changes").json
    #expect(whole["to"] != nil && !"\(whole)".contains(milk))
    for device in [ann, guest] { try device.pull() }
    #expect(!ann.has("items", milk) && guest.has("items", milk))
    try scene.check()
  }

  @Test(
    "a copy of an earlier stay that a restore has brought back gives way, or goes on where nothing else is left (I3, I8)",
    arguments: [false, true])
  func earlierStay(_ isDropped: Bool) throws {
    for back in [false, true, false] { _ = try moving(back: back).move(list) }
    // As a backup of the first stay has it.
    let b = scene.b
    try b.change(
      sqlite: "UPDATE holdfast_moves SET number = 1", postgres: "UPDATE holdfast.moves SET number = 1")
    let target = try Administration(b.location, environment: b.world.environment)
    _ = try target.operators.store.beginEpoch(
      NewEpoch(b.world.environment, because: .restored, isForkKnown: true), after: nil)
    try b.reopen()
    if isDropped { try Administration(scene.a.location).drop(list) }
    #expect(try moving().move(list)?.records == (isDropped ? nil : 3))
    #expect(try place(b)?.number == 3 && place(b)?.leftFor == nil)
    #expect(try place(scene.a) == ZonePlace(leftFor: "b", number: 3, state: .arrived))
    #expect(try moving().move(list) == nil, "a repeat does nothing")
    let guest = try scene.guest(try scene.a.signIn("ann"))
    try guest.pull()
    #expect(guest.has("items", milk))
    try scene.check()
  }

  @Test("a zone whose last deletions were purged arrives with tokens that are good (I4, I11)") func purged()
    throws
  {
    try ann.pull()
    try ann.sync([.delete("items", milk, rev: 1)])
    try ann.pull()
    for server in [scene.a, scene.b] { server.world.advance(400 * 86_400_000) }
    let here = try Administration(scene.a.location, environment: scene.a.world.environment)
    #expect(try here.purge(trustsClock: true).tombstones > 0)
    _ = try moving().move(list)
    let client = RestClient(try scene.guest(try scene.a.signIn("ann")))
    let token = try #require(try client.get("/v1/zones/\(list)/changes").json["to"]?.stringValue)
    #expect(try client.get("/v1/zones/\(list)/changes?since=\(token)").status == 200)
  }

  @Test("a pending membership is good in the other database when its inviter has left the zone")
  func invitedByLeaver() throws {
    let bob = try scene.a.signUp("bob")
    let membership = try ann.share(list, with: "bob", as: .owner)
    let dora = try scene.b.signUp("dora")
    try bob.pull()
    _ = try bob.offer(list, to: "dora")
    try bob.sync([.delete("members", membership, rev: 1)])
    _ = try moving().move(list)
    let waiting = try RestClient(dora).get("/v1/memberships").json["memberships"]?.elements ?? []
    #expect(waiting.count == 1)
    try scene.check()
  }
}
