import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// The zone of a user's id stays the user's, whoever else is an owner of it. Invariants I3 and I10; docs/SHARING.md, section 1.
@Suite struct OwnZoneTests {
  let server: TestServer
  let alice: TestDevice
  let bob: TestDevice
  /// The memberships of alice and of bob in alice's own zone.
  let own: String
  let guest: String
  let note: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    bob = try server.signUp("bob")
    note = alice.newID()
    try alice.sync([.create("notes", note, ["text": "private"])])
    guest = try alice.share(alice.user, with: "bob", as: .owner)
    for device in [alice, bob] { try device.pull() }
    let zone = alice.user
    own = try #require(
      alice.records.first {
        $0.key.hasPrefix("members ") && $0.value.zone == zone && $0.value.columns["name"] == "alice"
      }.map { String($0.key.dropFirst("members ".count)) })
    try #require(bob.has("notes", note))
  }

  /// Ends alice's membership as no request can, and starts the server again.
  private func takeZone() throws {
    try server.change(
      sqlite: """
        DELETE FROM members WHERE id = '\(own)';
        DELETE FROM holdfast_access WHERE zone = '\(alice.user)' AND user = '\(alice.user)';
        """, postgres: "DELETE FROM holdfast.members WHERE id = '\(own)'")
    try server.reopen()
  }

  private func ownerFindings() throws -> [String] { try server.findings().filter { $0.hasPrefix("owner: ") } }

  private func canWrite() throws -> Bool {
    try alice.sync([.create("notes", alice.newID(), ["text": "more"])]).refused.isEmpty
  }

  @Test("another owner neither removes nor demotes the user, by sync or REST (I10)")
  func taking() throws {
    let rest = RestClient(bob)
    for set in [Sent.delete("members", own), .update("members", own, ["role": "editor"])] {
      let problem = try bob.refused(.create("notes", bob.newID(), ["text": "x"]), set)
      #expect(problem.code == .lastOwner && problem.detail.contains("own zone"))
    }
    let path = "/v1/tables/members/\(own)"
    #expect(try rest.send("DELETE", path).code == "last-owner")
    let columns: JSONValue = ["columns": ["role": "viewer"]]
    #expect(try rest.send("PATCH", path, columns).code == "last-owner")
    let operations: [JSONValue] = [["op": "delete", "table": "members", "id": .string(own)]]
    #expect(try rest.batch(operations, atomic: false).statuses == [409])
    try alice.pull()
    #expect(try alice.has("notes", note) && canWrite())
    #expect(try server.findings().isEmpty)
  }

  @Test("nor do the user or an operator; the other owner goes as anywhere (I10)")
  func leaving() throws {
    for set in [Sent.delete("members", own), .update("members", own, ["role": "viewer"])] {
      #expect(try alice.refused(set).code == .lastOwner)
    }
    let zone = alice.user
    let left = try RestClient(alice).send("DELETE", "/v1/zones/\(zone)/membership")
    #expect(left.status == 409 && left.code == "last-owner")
    let administration = try Administration(server.location)
    #expect(throws: ServerError.self) { try administration.grant(zone: zone, name: "alice", role: .viewer) }
    #expect(try bob.sync([.update("members", guest, ["role": "editor"])]).refused.isEmpty)
    #expect(try bob.sync([.delete("members", guest)]).lost == [zone])
    #expect(try canWrite())
    #expect(try server.findings().isEmpty)
  }

  @Test("an erased user's own zone has the other owner (I9)")
  func erased() throws {
    #expect(try RestClient(alice).send("DELETE", "/v1/account", ["password": "correct horse"]).status == 204)
    for _ in 0..<2 { try server.inline?.purge() }
    try bob.pull()
    #expect(bob.has("notes", note) && !bob.has("members", own))
    #expect(try server.findings().isEmpty)
  }

  @Test("a user who has lost the own zone is named, and the repair gives it back (I9, I10)")
  func repair() throws {
    try takeZone()
    #expect(try !canWrite())
    let finding = "owner: the user \(alice.user) is no owner of the zone of this id, which is the user's own"
    #expect(try ownerFindings() == [finding])
    let repaired = try DatabaseRepair(server.location, environment: server.world.environment).run()
    #expect(repaired.last == "repaired: the user \(alice.user) is an owner of the own zone again")
    #expect(try ownerFindings().isEmpty)
    try server.reopen()
    try alice.pull()
    #expect(try alice.has("notes", note) && canWrite())
  }

  @Test("erasing its other owner gives the zone back to its user, and deletes nothing in it (I3)")
  func givenBack() throws {
    try takeZone()
    #expect(try RestClient(bob).send("DELETE", "/v1/account", ["password": "correct horse"]).status == 204)
    for _ in 0..<2 { try server.inline?.purge() }
    try alice.pull()
    #expect(try alice.has("notes", note) && canWrite())
    #expect(!alice.has("members", guest))
    #expect(try ownerFindings().isEmpty)
  }
}
