import Foundation
import Holdfast
import Testing

private struct Shelf: Record {
  static let table = "lists"
  var id: String
  var title: String
}

@Suite("Undo over the network")
struct UndoTests {
  /// Two devices of one user that have the same item.
  private static func shared(_ scene: Scene) async throws -> (Device, Device, list: String, item: String) {
    let phone = try await scene.signUp("ann", on: "phone")
    let (list, item) = try await phone.store.write { db in
      let list = Shelf(id: db.newID(), title: "Home")
      try db.insert(list)
      let item = Row(
        id: db.newID(), list_id: list.id, title: "Milk", position: try db.position(after: nil, before: nil))
      try db.insert(item)
      return (list.id, item.id)
    }
    try await phone.engine.sync()
    let laptop = try await scene.signIn("ann", on: "laptop")
    try await laptop.engine.sync()
    return (phone, laptop, list, item)
  }

  @Test("a sent edit is undone, but for the column that another device has changed since (I3, I7)")
  func changedMeanwhile() async throws {
    let scene = try Scene()
    let (phone, laptop, _, item) = try await Self.shared(scene)
    try await phone.store.write { db in
      try db.update(Row.self, id: item) { ($0.title, $0.done) = ("Oat milk", true) }
    }
    for device in [phone, laptop] { try await device.engine.sync() }
    try await laptop.store.write { try $0.update(Row.self, id: item) { $0.title = "Soy milk" } }
    for device in [laptop, phone] { try await device.engine.sync() }
    let result = try await phone.store.undo()
    #expect(result.undone.map(\.column) == ["done"])
    #expect(result.left.map(\.change.column) == ["title"])
    for device in [phone, laptop] { try await device.engine.sync() }
    let row = try await laptop.store.read { try $0.find(Row.self, id: item) }
    #expect(row?.title == "Soy milk" && row?.done == false)
    #expect(try phone.contents(scene.schema) == laptop.contents(scene.schema))
    try scene.server.database().expectSound()
  }

  @Test(
    "a deletion that was sent is undone: the list and its item are back everywhere, and go again by redo (I8, I9)"
  )
  func deleted() async throws {
    let scene = try Scene()
    let (phone, laptop, list, item) = try await Self.shared(scene)
    try await phone.store.write { try $0.execute("DELETE FROM lists WHERE id = ?", [.text(list)]) }
    for device in [phone, laptop] { try await device.engine.sync() }
    #expect(try await laptop.store.read { try $0.find(Row.self, id: item) } == nil)
    #expect(try await phone.store.undo().left.isEmpty)
    for device in [phone, laptop] { try await device.engine.sync() }
    #expect(try await laptop.store.read { try $0.find(Row.self, id: item) }?.title == "Milk")
    #expect(try await phone.store.quarantined().isEmpty)
    let redo = try #require(try await phone.store.undoable().first?.number)
    try await phone.store.undo(redo)
    for device in [phone, laptop] { try await device.engine.sync() }
    #expect(try await laptop.store.read { try $0.find(Row.self, id: item) } == nil)
    #expect(try phone.contents(scene.schema) == laptop.contents(scene.schema))
    try scene.server.database().expectSound()
  }

  @Test("a deletion in somebody else's own zone is undone there (I7, I10)")
  func deletedInOwnZone() async throws {
    let scene = try Scene(
      schema: SyncSchema(
        name: "diary",
        tables: [TableSchema("lists", zone: .user, columns: [ColumnSchema("title", .text, required: true)])]))
    let (ann, bob) = (try await scene.signUp("ann", on: "phone"), try await scene.signUp("bob", on: "tablet"))
    let own = try #require(try await ann.store.account()?.user)
    try await ann.store.write { db in
      try db.insert(Shelf(id: db.newID(), title: "Home"))
      try db.execute(
        "INSERT INTO members (id, zone, name, role) VALUES (?, ?, 'bob', 'editor')",
        [.text(db.newID()), .text(own)])
    }
    try await ann.engine.sync()
    try await bob.acceptAll()
    try await ann.engine.sync()
    try await bob.store.write { try $0.execute("DELETE FROM lists") }
    for device in [bob, ann] { try await device.engine.sync() }
    try await bob.store.undo()
    for device in [bob, ann] { try await device.engine.sync() }
    for device in [ann, bob] {
      let zones = try await device.store.read { try $0.fetch(String.self, "SELECT zone FROM lists") }
      #expect(zones == [own])
    }
    try await scene.expectAgreement([ann, bob])
  }
}
