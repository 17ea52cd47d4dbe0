import HoldfastCore
import HoldfastServer
import ServerScenes
import Testing

/// References into other zones keep nobody from deleting, and say nothing to who deletes. Invariants I9, I10.
@Suite struct AcrossTests {
  static let text = """
    {"holdfast": 1, "name": "cards", "tables": {
      "decks": {"zone": "root", "columns": {"title": {"type": "text"}}},
      "cards": {"zone": {"parent": "deck_id"}, "columns": {
        "deck_id": {"type": "reference", "to": "decks", "required": true, "on_delete": "cascade"},
        "front": {"type": "text"}}},
      "progress": {"zone": "user", "columns": {
        "card_id": {"type": "reference", "to": "cards", "required": true}, "count": {"type": "integer"}}},
      "reviews": {"zone": {"parent": "progress_id"}, "columns": {
        "progress_id": {"type": "reference", "to": "progress", "required": true, "on_delete": "restrict"}}},
      "notes": {"zone": "user", "columns": {
        "card_id": {"type": "reference", "to": "cards"}, "text": {"type": "text"}}}
    }}
    """

  let server: TestServer
  let alice: TestDevice
  let bob: TestDevice
  let deck: String
  let card: String

  init() throws {
    var rules = Rules()
    rules.validate("notes") { record in
      if record["text"] != "fine", record["card_id"] == .null {
        throw ValidationError("A note needs a card.")
      }
    }
    server = try TestServer(SyncSchema(json: Array(Self.text.utf8)), rules: rules)
    alice = try server.signUp("alice")
    bob = try server.signUp("bob")
    (deck, card) = (alice.newID(), alice.newID())
    try alice.sync([
      .create("decks", deck, ["title": "Birds"]),
      .create("cards", card, ["deck_id": .string(deck), "front": "Wren"]),
    ])
    _ = try alice.share(deck, with: "bob", as: .viewer)
    try bob.pull()
    try alice.pull()
  }

  @Test("by default a reference across zones becomes null, or takes a record that needs it along")
  func defaults() throws {
    let schema = try SyncSchema(json: Array(Self.text.utf8))
    func onDelete(_ table: String, _ column: String) -> Reference.OnDelete? {
      let table = schema.table(table)
      return table?.index(of: column).flatMap { table?.columns[$0].reference?.onDelete }
    }
    #expect(onDelete("progress", "card_id") == .cascade)
    #expect(onDelete("notes", "card_id") == .setNull)
    #expect(onDelete("reviews", "progress_id") == .restrict)
    #expect(try SyncSchema(json: schema.json.bytes) == schema)
  }

  @Test(
    "a schema that restricts across zones is refused, with what to write instead", arguments: [true, false])
  func restricting(_ isRequired: Bool) {
    let error = #expect(throws: SchemaError.self) {
      try SyncSchema(
        name: "cards",
        tables: [
          TableSchema("cards", zone: .root, columns: [ColumnSchema("front", .text)]),
          TableSchema(
            "notes", zone: .user,
            columns: [
              ColumnSchema(
                "card_id", .reference, required: isRequired,
                reference: Reference(to: "cards", onDelete: .restrict))
            ]),
        ])
    }
    #expect(error?.faults.map(\.place) == ["tables.notes.columns.card_id.on_delete"])
    #expect(error?.faults.first?.text.contains(isRequired ? "\"cascade\"" : "\"set_null\"") == true)
  }

  @Test(
    "who may delete deletes, whatever others have in private: they are told, the deleter is not (I9, I10)")
  func delete() throws {
    let (progress, review, note) = (bob.newID(), bob.newID(), bob.newID())
    let made = try bob.sync([
      .create("progress", progress, ["card_id": .string(card), "count": 1]),
      .create("reviews", review, ["progress_id": .string(progress)]),
      .create("notes", note, ["card_id": .string(card), "text": "Sings"]),
    ])
    #expect(made.refused.isEmpty)
    try bob.pull()
    #expect(bob.has("progress", progress))
    let answer = try alice.sync([.delete("cards", card)])
    #expect(answer.refused.isEmpty)
    #expect(answer.parts.map(\.zone) == [deck])
    #expect(answer.parts.map(\.count) == [1])
    try bob.pull()
    try alice.pull()
    #expect(!bob.has("progress", progress) && !bob.has("reviews", review))
    #expect(bob.column("notes", note, "card_id") == .null)
    #expect(bob.column("notes", note, "text") == "Sings")
    #expect(!alice.records.keys.contains { $0.hasPrefix("conflicts ") })
    #expect(try server.findings().isEmpty)
  }

  @Test("REST deletes the same, and answers as if nothing referred to the record (I10)")
  func rest() throws {
    try bob.sync([
      .create("notes", bob.newID(), ["card_id": .string(card), "text": "Sings"]),
      .create("progress", bob.newID(), ["card_id": .string(card)]),
    ])
    let plain = alice.newID()
    try alice.sync([.create("cards", plain, ["deck_id": .string(deck)])])
    let replies = try [card, plain].map { try RestClient(alice).send("DELETE", "/v1/tables/cards/\($0)") }
    #expect(replies.map(\.status) == [200, 200])
    #expect(replies.map { $0.json.members?.map(\.name) ?? [] }[0] == replies[1].json.members?.map(\.name))
    #expect(try RestClient(alice).send("DELETE", "/v1/tables/decks/\(deck)").status == 200)
    #expect(try server.findings().isEmpty)
  }

  @Test(
    "what was written offline about a record that was deleted meanwhile ends as the deletion would have it (I3, I9)"
  )
  func offline() throws {
    let (progress, note, kept) = (bob.newID(), bob.newID(), bob.newID())
    try bob.sync([.create("notes", kept, ["text": "fine"])])
    try alice.sync([.delete("cards", card)])
    let before = try alice.sync().parts.count
    let answer = try bob.sync(
      [.create("progress", progress, ["card_id": .string(card), "count": 3])],
      [.create("notes", note, ["card_id": .string(card), "text": "fine"])],
      [.update("notes", kept, ["card_id": .string(card)])])
    #expect(answer.refused.isEmpty)
    try bob.pull()
    #expect(!bob.has("progress", progress))
    #expect(bob.column("notes", note, "card_id") == .null)
    #expect(bob.column("notes", kept, "card_id") == .null)
    let lost = bob.records.filter { $0.key.hasPrefix("conflicts ") }
    #expect(lost.values.allSatisfy { $0.zone == bob.user })
    #expect(lost.values.contains { $0.columns["record_id"] == .string(progress) })
    // The deck's members hear nothing of it.
    #expect(before == 0)
    #expect(try alice.sync().parts.isEmpty)
    #expect(try server.findings().isEmpty)
  }
}
