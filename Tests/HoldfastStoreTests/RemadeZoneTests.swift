import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// A zone that a restore has lost, and that somebody who knows its name makes again: docs/RESTORING.md, section 4.
@Suite struct RemadeZoneTests {
  private typealias Lost = RecoveryTests.Lost

  private func invite(_ guest: TestDevice, to lost: Lost, by host: TestDevice, _ role: Role = .owner) throws {
    try host.sync([
      .create(
        "members", host.newID(),
        ["zone": .string(lost.list), "user": .string(guest.user), "role": .string(role.rawValue)])
    ])
  }

  @Test("whoever was invited to it by its maker can't accept once its owner has recovered it (I10)")
  func invited() throws {
    let lost = try Lost(.viewer)
    let eve = try lost.server.signUp("eve")
    try lost.bob.sync(complete: true)
    try lost.bob.sync([.create("lists", lost.list, ["title": "Mine"])])
    try invite(eve, to: lost, by: lost.bob)
    let pending = try RestClient(eve).get("/v1/memberships").json["memberships"]?.elements ?? []
    let id = try #require(pending.first?["id"]?.stringValue)
    _ = try lost.comeBack(lost.anna)
    let accepted = try RestClient(eve).send("POST", "/v1/memberships/\(id)/accept")
    #expect(accepted.status == 404)
    #expect(try lost.members.map(\.0) == [lost.anna.user] && lost.server.findings().isEmpty)
  }

  @Test(
    "an invitation of its maker gives neither its owner nor an editor a share in it (I10)",
    arguments: [true, false])
  func invitesOwner(isOwner: Bool) throws {
    let lost = try Lost(.editor)
    let mallory = try lost.server.signUp("mallory")
    try mallory.sync([.create("lists", lost.list, ["title": "Mine"])])
    try invite(isOwner ? lost.anna : lost.bob, to: lost, by: mallory, isOwner ? .owner : .editor)
    if isOwner {
      _ = try lost.comeBack(lost.anna)
      #expect(try lost.members.map(\.0) == [lost.anna.user])
    } else {
      let answer = try lost.bob.sync(complete: true)
      #expect(answer.parts.allSatisfy { $0.zone != lost.list })
      #expect(try lost.members.map(\.0) == [mallory.user])
    }
    #expect(try lost.server.findings().isEmpty)
  }

  @Test("an owner who was removed later has none of it once the copy of the later moment is there (I10)")
  func removed() throws {
    let lost = try Lost(.owner) { anna, _, membership in try anna.sync([.delete("members", membership)]) }
    _ = try lost.comeBack(lost.bob)
    #expect(try lost.owners == [lost.bob.user])
    _ = try lost.comeBack(lost.anna)
    #expect(try TextSet(lost.owners) == [lost.anna.user, lost.bob.user])
    let suite = RecoveryTests()
    let own = suite.member(lost.anna.newID(), lost.anna, lost.list, .owner, rev: 1)
    #expect(try suite.returned(lost.anna, [suite.root(lost.list, "Lost"), own]).isEmpty)
    #expect(try lost.owners == [lost.anna.user])
    _ = try lost.bob.sync()
    #expect(try lost.owners == [lost.anna.user] && lost.server.findings().isEmpty)
  }

  @Test("once the owner who has recovered it has left, the others decide about members (I10, I12)")
  func ownerLeft() throws {
    let lost = try Lost(.owner)
    let suite = RecoveryTests()
    _ = try lost.comeBack(lost.anna)
    let items = [
      suite.root(lost.list, "Lost"), suite.member(lost.membership, lost.bob, lost.list, .owner, rev: 1),
    ]
    #expect(try suite.returned(lost.anna, items).isEmpty)
    _ = try lost.comeBack(lost.bob)
    _ = try lost.server.signUp("carol")
    let path = "/v1/zones/\(lost.list)/membership"
    let left = try RestClient(lost.anna).send("DELETE", path)
    #expect(left.status == 204, "\(left.json)")
    let membership = try lost.bob.share(lost.list, with: "carol", as: .viewer)
    #expect(try lost.bob.sync([.update("members", membership, ["role": "editor"])]).refused.isEmpty)
  }
}
