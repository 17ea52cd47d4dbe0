import HoldfastCore
import ServerScenes
import Testing

/// The table of PROTOCOL.md, section 5, row by row.
@Suite struct ApplyingTests {
  let server: TestServer
  let alice: TestDevice
  let phone: TestDevice

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    phone = try server.signIn("alice")
  }

  @Test("a create of a root record makes its zone, with its maker as owner")
  func createRoot() throws {
    let list = try alice.makeList()
    #expect(alice.records["lists \(list)"]?.rev == 1)
    #expect(alice.records["lists \(list)"]?.zone == list)
    let members = alice.records.filter { $0.key.hasPrefix("members ") && $0.value.zone == list }
    #expect(members.map { $0.value.columns["role"] } == [.string("owner")])
    #expect(try server.findings().isEmpty)
  }

  @Test("a create that meets a live record merges with it, and equal columns are no change")
  func createOnLive() throws {
    let list = try alice.makeList("One")
    let answer = try alice.sync([.create("lists", list, ["title": "One"])])
    #expect(answer.refused.isEmpty)
    #expect(alice.records["lists \(list)"]?.rev == 1)
    try alice.sync([.create("lists", list, ["title": "Two"])])
    #expect(alice.column("lists", list, "title") == "Two")
    #expect(alice.records["lists \(list)"]?.rev == 2)
    #expect(try server.findings().isEmpty)
  }

  @Test("many creates meet what is live or deleted under their ids as each alone would (I1, I8)")
  func manyCreates() throws {
    let list = try alice.makeList()
    try phone.pull()
    let ids = (0..<20).map { _ in alice.newID() }
    func create(_ id: String, _ title: String) -> Sent {
      .create("items", id, ["list_id": .string(list), "title": .string(title)])
    }
    try alice.sync([create(ids[3], "old"), create(ids[5], "gone"), create(ids[19], "last")])
    try alice.sync([.delete("items", ids[5])])
    let answer = try phone.sync(ids.map { create($0, "new") })
    #expect(answer.refused.isEmpty)
    try phone.pull()
    for (place, id) in ids.enumerated() { #expect(phone.has("items", id) == (place != 5)) }
    #expect(phone.records["items \(ids[3])"]?.rev == 2)
    #expect(try server.findings().isEmpty)
  }

  @Test("a create later than the deletion restores the record with the next rev (I8)")
  func createOnTombstoneLater() throws {
    let list = try alice.makeList()
    let item = try alice.makeItem(list)
    try alice.sync([.delete("items", item, at: Stamp(milliseconds: 5000))])
    try phone.pull()
    #expect(!phone.has("items", item))
    try alice.sync([
      .create("items", item, ["list_id": .string(list), "title": "Back"], at: Stamp(milliseconds: 6000))
    ])
    try phone.pull()
    #expect(phone.column("items", item, "title") == "Back")
    #expect(phone.records["items \(item)"]?.rev == 3)
    #expect(try server.findings().isEmpty)
  }

  @Test("delete, then create again, same id, from a clock that is ahead: the record is there (I1, I3)")
  func createAgainAhead() throws {
    let list = try alice.makeList()
    let item = try alice.makeItem(list)
    let ahead = Stamp(milliseconds: 4_000_000_000_000)
    try alice.sync([
      .delete("items", item, at: ahead),
      .create(
        "items", item, ["list_id": .string(list), "title": "Again"], at: Stamp(rawValue: ahead.rawValue + 1)),
    ])
    try phone.pull()
    #expect(phone.column("items", item, "title") == "Again")
    #expect(try server.findings().isEmpty)
  }

  @Test("a create earlier than the deletion loses, and its columns are in the conflict log (I3, I8)")
  func createOnTombstoneEarlier() throws {
    let list = try alice.makeList()
    let item = try alice.makeItem(list)
    try alice.sync([.delete("items", item, at: Stamp(milliseconds: 5000))])
    let answer = try phone.sync([
      .create("items", item, ["list_id": .string(list), "title": "Stale"], at: Stamp(milliseconds: 4000))
    ])
    #expect(answer.refused.isEmpty)
    try phone.pull()
    #expect(!phone.has("items", item))
    #expect(
      phone.all("conflicts").contains {
        $0["loser_value"]?.stringValue == "\"Stale\"" || $0["loser_value"] == "Stale"
      })
    #expect(try server.findings().isEmpty)
  }

  @Test("an update of a deleted record is accepted, changes nothing and is logged (I3, I8)")
  func updateOnTombstone() throws {
    let list = try alice.makeList()
    let item = try alice.makeItem(list)
    try phone.pull()
    try alice.sync([.delete("items", item)])
    let answer = try phone.sync([.update("items", item, ["title": "Oat milk"], base: ["title": "Milk"])])
    #expect(answer.refused.isEmpty)
    try phone.pull()
    #expect(!phone.has("items", item))
    let conflict = try #require(phone.all("conflicts").first)
    #expect(conflict["policy"] == "delete")
    #expect(conflict["base"] == "Milk")
    #expect(conflict["loser_value"] == "Oat milk")
    #expect(conflict["loser_device"] == .string(phone.id))
    #expect(conflict["winner_value"] == .null)
  }

  @Test("an update of an unknown record is refused, and changes nothing")
  func updateUnknown() throws {
    #expect(try alice.refused(.update("items", alice.newID(), ["title": "x"])).code == .recordUnknown)
  }

  @Test("a delete of a deleted or unknown record is accepted and does nothing (I8)")
  func deleteTwice() throws {
    let list = try alice.makeList()
    let item = try alice.makeItem(list)
    #expect(try alice.sync([.delete("items", item)]).refused.isEmpty)
    try alice.pull()
    let before = alice.acks[list]
    #expect(try alice.sync([.delete("items", item)], [.delete("items", alice.newID())]).refused.isEmpty)
    #expect(alice.acks[list] == before)
  }

  @Test("a delete logs the columns that others changed after its revision (I3)")
  func deleteLogs() throws {
    let bob = try server.signUp("bob")
    let list = try alice.makeList()
    let item = try alice.makeItem(list)
    _ = try alice.share(list, with: "bob")
    try bob.pull()
    try bob.sync([.update("items", item, ["title": "Bread"], base: ["title": "Milk"])])
    try alice.sync([.delete("items", item, rev: 1)])
    try alice.pull()
    let conflict = try #require(alice.all("conflicts").first)
    #expect(conflict["loser_value"] == "Bread")
    #expect(conflict["loser_user"] == .string(bob.user))
    #expect(try server.findings().isEmpty)
  }

  @Test("columns that nobody else changed are merged, from two devices (I7)")
  func mergeColumns() throws {
    let list = try alice.makeList()
    let item = try alice.makeItem(list)
    try phone.pull()
    try alice.sync([.update("items", item, ["title": "Oat milk"], base: ["title": "Milk"])])
    try phone.sync([.update("items", item, ["done": true], base: ["done": false])])
    try alice.pull()
    try phone.pull()
    #expect(alice.column("items", item, "title") == "Oat milk")
    #expect(alice.column("items", item, "done") == true)
    #expect(alice.records == phone.records)
    #expect(alice.all("conflicts").isEmpty)
  }

  @Test("an update that changes nothing gives no new rev")
  func unchanged() throws {
    let list = try alice.makeList("One")
    try alice.pull()
    let before = alice.acks[list]
    try alice.sync([.update("lists", list, ["title": "One"])])
    #expect(alice.acks[list] == before)
  }

  @Test("an edit from one spelling of a character to the other is a change (I7)")
  func spelling() throws {
    let list = try alice.makeList("Caf\u{E9}")
    try alice.sync([.update("lists", list, ["title": "Cafe\u{301}"], base: ["title": "Caf\u{E9}"])])
    try alice.pull()
    #expect(alice.records["lists \(list)"]?.rev == 2)
    #expect(
      alice.column("lists", list, "title")?.stringValue.map { Array($0.utf8) } == Array("Cafe\u{301}".utf8))
  }
}
