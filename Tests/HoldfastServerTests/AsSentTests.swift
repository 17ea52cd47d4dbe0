import HoldfastCore
import ServerScenes
import Testing

/// Answers that name change sets in place of the records that these created: PROTOCOL.md, section 3. Invariants I2, I4.
@Suite struct AsSentTests {
  private let server: TestServer
  private let alice: TestDevice
  private let phone: TestDevice
  private let list: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    phone = try server.signIn("alice")
    list = try alice.makeList()
    try alice.pull()
    try phone.pull()
    alice.takesAsSent = true
  }

  private func item(_ title: String, _ more: [JSONValue.Member] = []) -> Sent {
    .create(
      "items", alice.newID(),
      .object([.init("list_id", .string(list)), .init("title", .string(title))] + more))
  }

  /// The part of the list in an answer.
  private func part(_ answer: SyncAnswer) throws -> SyncAnswer.Part {
    try #require(answer.parts.first { $0.zone == list })
  }

  /// How many creates make it worthwhile to ask PostgreSQL whether it keeps records as they are written.
  private let many = Engine.used == .sqlite ? 2 : 64

  private func items(_ count: Int) -> [Sent] { (0..<count).map { item("\($0)") } }

  @Test("creates alone are answered by the numbers of their change sets; other devices get the records (I4)")
  func creates() throws {
    let answer = try alice.sync(items(many), [item("Salt")])
    let part = try part(answer)
    #expect(part.asSent == [2, Int64(many) + 2])
    #expect(part.count == Int64(many) + 1)
    #expect(!part.hasMore)
    #expect(part.changes.count == 2)
    try phone.pull()
    #expect(phone.all("items").count == many + 1)
    let next = try alice.sync()
    #expect(next.parts.isEmpty)
    #expect(next.mustResend == false)
  }

  @Test("who does not ask for it gets the records")
  func notAsked() throws {
    alice.takesAsSent = false
    #expect(try part(alice.sync(items(many))).asSent == [])
    #expect(alice.all("items").count == many)
  }

  @Test("what another device changed meanwhile is in the answer, with all else (I2, I4)")
  func others() throws {
    try phone.sync([.create("items", phone.newID(), ["list_id": .string(list), "title": "Tea"])])
    #expect(try part(alice.sync(items(many))).asSent == [])
    #expect(alice.all("items").count == many + 1)
  }

  @Test("a change set that does more than create records is answered with all of them (I2)")
  func more() throws {
    let answer = try alice.sync(items(many) + [.update("lists", list, ["title": "Food"])])
    #expect(try part(answer).asSent == [])
    #expect(alice.all("items").count == many)
    let mixed = try alice.sync(items(many), [.update("lists", list, ["title": "Drinks"], rev: 2)])
    #expect(try part(mixed).asSent == [])
    #expect(alice.all("items").count == 2 * many)
  }

  @Test(
    "a record that was there before, and one that lost a reference, are answered with what became of them (I8, I9)"
  )
  func merged() throws {
    let made = item("Milk")
    try phone.sync([made])
    try alice.pull()
    #expect(try part(alice.sync([made] + items(many))).asSent == [])
    let tag = alice.newID()
    try alice.sync([.create("tags", tag, ["list_id": .string(list), "name": "dairy"])])
    try phone.pull()
    try phone.sync([.delete("tags", tag)])
    try alice.pull()
    let answer = try alice.sync(items(many) + [item("Cheese", [.init("tag_id", .string(tag))])])
    #expect(try part(answer).asSent == [])
    #expect(alice.all("items").contains { $0["title"] == "Cheese" && $0["tag_id"] == .null })
  }

  @Test(
    "a column that the server does not have is on the device what its app says, so the records are sent (I7)")
  func unknownColumn() throws {
    #expect(try part(alice.sync(items(many) + [item("Tea", [.init("unknown", .null)])])).asSent == [])
  }

  @Test("a refused change set is none of them, and those behind it are (I3)")
  func refused() throws {
    let answer = try alice.sync([.delete("items", alice.newID()), .create("items", "x", [:])], items(many))
    #expect(answer.refused.count == 1)
    #expect(try part(answer).asSent == [4])
  }

  @Test("where a trigger of the team may change records, they are sent (I4)")
  func triggers() throws {
    try server.change(
      sqlite: """
        CREATE TRIGGER team_upper AFTER INSERT ON items BEGIN
          UPDATE items SET title = upper(title) WHERE id = new.id; END
        """,
      postgres: """
        CREATE FUNCTION team_upper() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.title = upper(NEW.title); RETURN NEW; END $$;
        CREATE TRIGGER team_upper BEFORE INSERT ON items FOR EACH ROW EXECUTE FUNCTION team_upper()
        """)
    let answer = try alice.sync(items(many) + [item("Milk")])
    #expect(try part(answer).asSent == [])
    #expect(alice.all("items").contains { $0["title"] == "MILK" })
  }
}
