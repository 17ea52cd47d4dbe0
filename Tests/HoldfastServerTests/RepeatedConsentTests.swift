import HoldfastCore
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer

/// What the server has found out about two users holds for a whole transaction, as far as nothing changes it. Invariants I10, I12.
@Suite struct RepeatedConsentTests {
  let server: TestServer
  let alice: TestDevice
  let bob: TestDevice

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    bob = try server.signUp("bob")
  }

  private func member(_ id: String, of list: String) -> Sent {
    .create("members", id, ["zone": .string(list), "name": "bob", "role": "editor"])
  }

  @Test("what a change set of the same request has changed, or was refused, decides who waits (I10)")
  func decisions() throws {
    let shared = try alice.makeList("Shared")
    let known = try alice.share(shared, with: "bob")
    let lists = try (0..<5).map { try alice.makeList("\($0)") }
    let ids = lists.map { _ in alice.newID() }
    for device in [alice, bob] { try device.pull() }
    let answer = try alice.sync(
      // Refused: nothing of it holds.
      [
        .delete("members", known), member(ids[0], of: lists[0]),
        .update("items", alice.newID(), ["title": "x"]),
      ],
      [member(ids[1], of: lists[1])],
      [.delete("members", known), .delete("members", ids[1]), member(ids[2], of: lists[2])],
      [member(ids[3], of: lists[3])])
    #expect(answer.refused.count == 1)
    try alice.pull()
    #expect(!alice.has("members", ids[0]) && !alice.has("members", ids[1]))
    for id in ids[2...3] { #expect(alice.column("members", id, "invited_by") == .string(alice.user)) }
    #expect(try RestClient(bob).send("POST", "/v1/memberships/\(ids[2])/accept").status == 201)
    // Again they share a zone.
    try alice.sync([member(ids[4], of: lists[4])], [.delete("members", ids[2])])
    try alice.pull()
    #expect(alice.column("members", ids[4], "invited_by") == .null)
    #expect(try server.findings().isEmpty)
  }

  @Test("a change set that makes and deletes a membership again and again asks for shared zones once (I12)")
  func repeated() throws {
    for device in [alice, bob] { for number in 0..<40 { _ = try device.makeList("\(number)") } }
    let list = try alice.makeList("Last")
    // 200 operations are 20 ms of work. Each comparison of 40 zones is more than the other half of what one takes.
    server.world.changeSetWork.withLock { $0 = 25_000 }
    try server.reopen()
    let set = (0..<100).flatMap { _ in
      let id = alice.newID()
      return [member(id, of: list), .delete("members", id)]
    }
    #expect(try alice.sync(set).refused.isEmpty)
    #expect(try server.findings().isEmpty)
  }
}
