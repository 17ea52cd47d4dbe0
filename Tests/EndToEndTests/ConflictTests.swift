import Foundation
import Holdfast
import Testing

private struct Note: Record {
  static let table = "lists"
  var id: String
  var title: String
  var amount = 0
  var tags: [String]? = []
}

@Suite("Concurrent edits, on the devices")
struct ConflictTests {
  private static func schema() throws -> SyncSchema {
    try SyncSchema(
      name: "notes",
      tables: [
        TableSchema(
          "lists", zone: .root,
          columns: [
            ColumnSchema("title", .text, required: true, policy: .ask),
            ColumnSchema("amount", .integer, required: true, default: .integer(0), policy: .counter),
            ColumnSchema("tags", .json, policy: .set),
          ])
      ])
  }

  /// Two devices of one user that have the same note.
  private static func shared(_ scene: Scene) async throws -> (Device, Device, note: String) {
    let phone = try await scene.signUp("ann", on: "phone")
    let note = try await phone.store.write { db in
      let note = Note(id: db.newID(), title: "Milk")
      try db.insert(note)
      return note.id
    }
    try await phone.engine.sync()
    let laptop = try await scene.signIn("ann", on: "laptop")
    try await laptop.engine.sync()
    return (phone, laptop, note)
  }

  private static func note(_ device: Device, _ id: String) async throws -> Note? {
    try await device.store.read { try $0.find(Note.self, id: id) }
  }

  /// Both give the note another title; the one of the phone arrives first.
  private static func disagree(_ phone: Device, _ laptop: Device, _ note: String) async throws {
    try await phone.store.write { try $0.update(Note.self, id: note) { $0.title = "Oat milk" } }
    try await laptop.store.write { try $0.update(Note.self, id: note) { $0.title = "Soy milk" } }
    for device in [phone, laptop, phone] { try await device.engine.sync() }
  }

  @Test("a question about a record that was deleted is closed by its winner on every device (I3, I7)")
  func deletedQuestion() async throws {
    let scene = try Scene(schema: try Self.schema())
    let (phone, laptop, note) = try await Self.shared(scene)
    try await Self.disagree(phone, laptop, note)
    try await phone.store.write { try $0.delete(Note.self, id: note) }
    for device in [phone, laptop] { try await device.engine.sync() }
    let question = try #require(try await laptop.store.read { try $0.conflicts(onlyOpen: true) }.first)
    try await laptop.store.write { try $0.resolve(question, taking: .winner) }
    for device in [laptop, phone] { try await device.engine.sync() }
    for device in [laptop, phone] {
      #expect(try await device.store.read { try $0.conflicts(onlyOpen: true) }.isEmpty)
      #expect(try await device.store.quarantined().isEmpty)
    }
    try await scene.expectAgreement([phone, laptop])
  }

  @Test("a deleted item comes back to the end of its list by a title that somebody gave it (I7, I8)")
  func renamedItem() async throws {
    let scene = try Scene()
    let phone = try await scene.signUp("ann", on: "phone")
    let list = "0193aaaa-0000-7000-8000-000000000001"
    let items = (1...2).map { "0193aaaa-0000-7000-8000-00000000001\($0)" }
    try await phone.store.write { db in
      try db.execute("INSERT INTO lists (id, title) VALUES (?, 'Food')", [.text(list)])
      try db.insert(items.map { Row(id: $0, list_id: list, title: "Tea", position: "") }, at: .last)
    }
    try await phone.engine.sync()
    let laptop = try await scene.signIn("ann", on: "laptop")
    try await laptop.engine.sync()
    try await laptop.store.write { try $0.update(Row.self, id: items[0]) { $0.title = "Green tea" } }
    try await phone.store.write { try $0.delete(Row.self, id: items[0]) }
    for device in [phone, laptop] { try await device.engine.sync() }
    let lost = try #require(try await laptop.store.read { try $0.conflicts() }.first)
    try await laptop.store.write { try $0.resolve(lost, taking: .loser) }
    for device in [laptop, phone] { try await device.engine.sync() }
    let titles = try await phone.store.read {
      try $0.fetch(String.self, "SELECT title FROM items WHERE list_id = ? ORDER BY position", [.text(list)])
    }
    #expect(titles == ["Tea", "Green tea"])
    try await scene.expectAgreement([phone, laptop])
  }

  @Test("a question is answered on one device, and the answer is seen on the other (I7)")
  func answered() async throws {
    let scene = try Scene(schema: try Self.schema())
    let (phone, laptop, note) = try await Self.shared(scene)
    try await Self.disagree(phone, laptop, note)
    for device in [phone, laptop] {
      #expect(try await Self.note(device, note)?.title == "Oat milk")
      #expect(try await device.store.read { try $0.conflicts(onlyOpen: true) }.count == 1)
    }
    let question = try #require(try await phone.store.read { try $0.conflicts(onlyOpen: true) }.first)
    #expect(
      question.base == "Milk" && question.winner.value == "Oat milk" && question.loser.value == "Soy milk")
    try await phone.store.write { try $0.resolve(question, taking: .loser) }
    for device in [phone, laptop, phone] { try await device.engine.sync() }
    let account = try #require(try await phone.store.account())
    for device in [phone, laptop] {
      #expect(try await Self.note(device, note)?.title == "Soy milk")
      let closed = try #require(try await device.store.read { try $0.conflicts() }.first)
      #expect(closed.resolution == .loser && closed.resolvedBy == account.user && closed.resolvedAt != nil)
      #expect(try await device.store.quarantined().isEmpty)
    }
    #expect(try phone.contents(scene.schema) == laptop.contents(scene.schema))
    try scene.server.database().expectSound()
  }

  @Test("of two answers the first holds; the other is rolled back and waits in quarantine (I3, I7)")
  func answeredTwice() async throws {
    let scene = try Scene(schema: try Self.schema())
    let (phone, laptop, note) = try await Self.shared(scene)
    try await Self.disagree(phone, laptop, note)
    let question = try #require(try await phone.store.read { try $0.conflicts(onlyOpen: true) }.first)
    try await phone.store.write { try $0.resolve(question, taking: .loser) }
    try await laptop.store.write { try $0.resolve(question, taking: .value("Rice milk")) }
    for device in [phone, laptop, phone] { try await device.engine.sync() }
    #expect(try await laptop.store.quarantined().map(\.problem?.code) == [.conflictResolved])
    #expect(try await laptop.store.undoable().isEmpty == false)
    for device in [phone, laptop] { #expect(try await Self.note(device, note)?.title == "Soy milk") }
    #expect(try phone.contents(scene.schema) == laptop.contents(scene.schema))
    try scene.server.database().expectSound()
  }

  @Test("counters and sets that both changed offline hold both, also while edits wait (I7)")
  func combined() async throws {
    let scene = try Scene(schema: try Self.schema())
    let (phone, laptop, note) = try await Self.shared(scene)
    for number in 1...2 {
      try await phone.store.write { try $0.update(Note.self, id: note) { $0.amount += number } }
    }
    try await phone.store.write { try $0.update(Note.self, id: note) { $0.tags = ["a", "b"] } }
    try await laptop.store.write { try $0.update(Note.self, id: note) { ($0.amount, $0.tags) = (10, ["c"]) } }
    for device in [laptop, phone, laptop] { try await device.engine.sync() }
    for device in [phone, laptop] {
      let record = try #require(try await Self.note(device, note))
      #expect(record.amount == 13 && record.tags == ["a", "b", "c"])
    }
    // Undone after others have counted on.
    try await laptop.store.undo()
    for device in [laptop, phone] { try await device.engine.sync() }
    let record = try #require(try await Self.note(phone, note))
    #expect(record.amount == 3 && record.tags == ["a", "b"])
    #expect(try phone.contents(scene.schema) == laptop.contents(scene.schema))
    try scene.server.database().expectSound()
  }

  @Test("a note that was deleted while somebody edited it comes back from the log (I3, I8)")
  func broughtBack() async throws {
    let scene = try Scene(schema: try Self.schema())
    let (phone, laptop, note) = try await Self.shared(scene)
    try await phone.store.write { try $0.delete(Note.self, id: note) }
    try await laptop.store.write { try $0.update(Note.self, id: note) { $0.title = "Soy milk" } }
    for device in [phone, laptop, phone] { try await device.engine.sync() }
    #expect(try await Self.note(laptop, note) == nil)
    let lost = try #require(try await laptop.store.read { try $0.conflicts() }.first)
    #expect(lost.isDeletion)
    try await laptop.store.write { try $0.resolve(lost, taking: .loser) }
    for device in [laptop, phone, laptop] { try await device.engine.sync() }
    #expect(try await laptop.store.quarantined().isEmpty)
    #expect(try await Self.note(phone, note)?.title == "Soy milk")
    #expect(try phone.contents(scene.schema) == laptop.contents(scene.schema))
    try scene.server.database().expectSound()
  }
}
