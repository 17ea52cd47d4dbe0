import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// What an edit may do depends on what its device had seen.
@Suite("What a device knew")
struct KnowledgeTests {
  let server: TestServer
  let alice: TestDevice
  let phone: TestDevice
  let list: String
  let item: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    phone = try server.signIn("alice")
    list = try alice.makeList()
    item = try alice.makeItem(list)
    try phone.pull()
    try alice.pull()
  }

  private func code(_ response: HTTPResponse) -> ProblemCode? { Problem(document: response.body)?.code }

  // MARK: Deletions

  @Test("children that a deletion takes along unseen are in the conflict log (I3)")
  func unseenChild() throws {
    let unseen = try phone.makeItem(list, "Unseen")
    try alice.sync([.delete("lists", list)])
    try alice.pull()
    #expect(alice.all("items").isEmpty)
    let logged = alice.all("conflicts").filter {
      $0["record_id"] == .string(unseen) && $0["column_name"] == "title"
    }
    #expect(logged.map { $0["loser_value"] } == ["Unseen"])
  }

  @Test(
    "a child that the set deletes by name is held against what its deletion knew, also when its parent went first (I3)"
  )
  func knownChild() throws {
    try phone.sync([.update("items", item, ["title": "Oat milk"], base: ["title": "Milk"])])
    try alice.sync([.delete("lists", list), .delete("items", item, rev: 1)])
    try alice.pull()
    #expect(alice.all("conflicts").contains { $0["record_id"] == .string(item) })
    let other = try alice.makeList("Other")
    let known = try alice.makeItem(other)
    try alice.pull()
    let before = alice.all("conflicts").count
    try alice.sync([.delete("lists", other), .delete("items", known, rev: 1)])
    try alice.pull()
    #expect(alice.all("conflicts").count == before)
  }

  @Test("a create brings a deleted record back only from a device that has seen the deletion (I8)")
  func unseenDeletion() throws {
    try phone.sync([.delete("items", item)])
    let late = Stamp(milliseconds: 9_000_000_000_000)
    // The clock of this device runs ahead of everything, and it has not heard of the deletion.
    try alice.sync([.create("items", item, ["list_id": .string(list), "title": "Back"], at: late)])
    try alice.pull()
    #expect(!alice.has("items", item))
    #expect(alice.all("conflicts").contains { $0["record_id"] == .string(item) })
    try alice.sync([.create("items", item, ["list_id": .string(list), "title": "Back"], at: late)])
    try alice.pull()
    #expect(alice.column("items", item, "title") == "Back")
  }

  // MARK: Edits

  @Test(
    "an edit whose base is not the server's value is a conflict, also when its rev says that it knew (I3)")
  func baseTellsMore() throws {
    try phone.sync([.update("items", item, ["title": "Oat milk"], base: ["title": "Milk"])])
    try alice.sync([
      .update(
        "items", item, ["title": "Soy milk"], rev: 2, base: ["title": "Cow's milk"],
        at: Stamp(milliseconds: 2000))
    ])
    try alice.pull()
    #expect(alice.all("conflicts").count == 1)
  }

  // MARK: Zones

  @Test("a zone that was lost and came back before the device heard of it is resynced (I7)")
  func lostAndFound() throws {
    let bob = try server.signUp("bob")
    let membership = try alice.share(list, with: "bob")
    try bob.pull()
    #expect(bob.has("items", item))
    try alice.sync([.delete("members", membership)])
    // A stranger's deletion has no effect. Its answer, which says that the zone is lost, never arrives.
    let answer = try server.respond(to: bob.request([[.delete("items", item)]]))
    #expect(answer.status == 200)
    bob.records["items \(item)"] = nil
    _ = try alice.share(list, with: "bob")
    try bob.pull()
    #expect(bob.has("items", item))
  }

  // MARK: Copies

  @Test("a copy that goes back behind answers that were dealt with is told that it is one (I3)")
  func purgedAnswers() throws {
    let copy = alice.request([[.create("items", alice.newID(), ["list_id": "nowhere", "title": "Lost"])]])
    _ = try alice.refused(.create("items", alice.newID(), ["list_id": "nowhere", "title": "Lost"]))
    try alice.pull()
    #expect(code(try server.respond(to: copy)) == .deviceDiverged)
  }

  @Test(
    "a copy that asks at the moment at which the other has dealt with a refusal is told that it is one (I3)")
  func answersOfOneMoment() throws {
    let request = alice.request([
      [.create("items", alice.newID(), ["list_id": "nowhere", "title": "Lost"])]
    ])
    #expect(try alice.apply(server.respond(to: request)).refused.count == 1)
    let answers = try #require(server.inline).respond(to: [request, alice.request([])])
    #expect(code(answers[0]) == .deviceDiverged)
    #expect(answers[1].status == 200)
  }

  @Test("who signs in as a device that had another session since becomes a device of its own (I1)")
  func sessions() throws {
    func signIn(_ session: Int64?) throws -> JSONValue {
      var device: [JSONValue.Member] = [.init("name", "copy"), .init("id", .string(alice.id))]
      if let session { device.append(.init("session", .integer(session))) }
      let answer = try server.post(
        "/v1/sessions", ["name": "alice", "password": "correct horse", "device": .object(device)])
      return try JSONValue(parsing: answer.body)
    }
    // Its answer is lost, so the session is never used: the next try with the old number is still the device.
    #expect(try signIn(1)["device"]?["session"] == 2)
    let second = try TestDevice(server, try signIn(1))
    #expect(second.id == alice.id)
    (second.confirmed, second.chain) = (alice.confirmed, alice.chain)
    (second.answers, second.acks) = (alice.answers, alice.acks)
    try second.sync(complete: true)
    #expect(try TestDevice(server, try signIn(1)).id != alice.id)
    #expect(try TestDevice(server, try signIn(3)).id == alice.id)
  }
}
