import HoldfastCore
import ServerScenes
import Testing

/// Edits that did not know of each other.
@Suite struct ConflictTests {
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

  private func edit(_ device: TestDevice, _ column: String, _ value: String, at: Int64) throws {
    try device.sync([
      .update("items", item, [column: .string(value)], base: [column: .null], at: Stamp(milliseconds: at))
    ])
  }

  private func settle() throws {
    try alice.pull()
    try phone.pull()
    #expect(alice.records == phone.records)
    #expect(try server.findings().isEmpty)
  }

  @Test(
    "the later edit wins by latest, whichever arrives first, and the loser is logged with both values (I3, I7)"
  )
  func latest() throws {
    try edit(alice, "title", "Late", at: 9000)
    try edit(phone, "title", "Early", at: 8000)
    try settle()
    #expect(alice.column("items", item, "title") == "Late")
    let conflict = try #require(alice.all("conflicts").first)
    #expect(conflict["winner_value"] == "Late")
    #expect(conflict["loser_value"] == "Early")
    #expect(conflict["winner_device"] == .string(alice.id))
    #expect(conflict["loser_device"] == .string(phone.id))
    #expect(conflict["policy"] == "latest")
    #expect(conflict["loser_at"] == .string(Timestamp.text(milliseconds: 8000)))
  }

  @Test("the later edit wins by latest also when it arrives last")
  func latestLast() throws {
    try edit(alice, "title", "Early", at: 8000)
    try edit(phone, "title", "Late", at: 9000)
    try settle()
    #expect(alice.column("items", item, "title") == "Late")
    #expect(alice.all("conflicts").count == 1)
  }

  @Test("the server's value stays by server, and the edit is logged (I3)")
  func serverPolicy() throws {
    try edit(alice, "note", "first", at: 8000)
    try edit(phone, "note", "second", at: 9000)
    try settle()
    #expect(alice.column("items", item, "note") == "first")
    #expect(alice.all("conflicts").first?["loser_value"] == "second")
  }

  @Test("a device whose edit loses is sent the record again, though it had read it already (I7)")
  func touchedForTheLoser() throws {
    try edit(alice, "title", "Late", at: 9000)
    try phone.pull()
    let before = phone.records["items \(item)"]?.rev
    // The edit was sealed before the pull: it is based on the old revision.
    try edit(phone, "title", "Early", at: 8000)
    #expect(phone.column("items", item, "title") == "Late")
    #expect(phone.records["items \(item)"]?.rev != before)
  }

  @Test("a stamp from the future counts as the time of arrival (clock skew)")
  func future() throws {
    try edit(alice, "title", "From 2040", at: server.world.now + 400_000_000_000)
    server.world.advance(1000)
    try edit(phone, "title", "A second later", at: server.world.now)
    try settle()
    #expect(alice.column("items", item, "title") == "A second later")
  }

  @Test("equal edits of two devices are no conflict")
  func equal() throws {
    try edit(alice, "title", "Same", at: 8000)
    try edit(phone, "title", "Same", at: 9000)
    try settle()
    #expect(alice.all("conflicts").isEmpty)
  }
}
