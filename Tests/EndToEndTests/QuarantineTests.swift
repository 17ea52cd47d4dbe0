import Foundation
import Holdfast
import Testing

private struct Folder: Record {
  static let table = "folders"
  var id: String
  var list_id: String
  var title: String
}

private struct Page: Record {
  static let table = "pages"
  var id: String
  var folder_id: String
  var text: String
}

private struct Shelf: Record {
  static let table = "lists"
  var id: String
  var title: String
}

@Suite("What the server refused, written again")
struct QuarantineTests {
  private static func schema() throws -> SyncSchema {
    try SyncSchema(
      name: "folders",
      tables: [
        TableSchema("lists", zone: .root, columns: [ColumnSchema("title", .text, required: true)]),
        TableSchema(
          "folders", zone: .parent("list_id"),
          columns: [
            ColumnSchema(
              "list_id", .reference, required: true, reference: Reference(to: "lists", onDelete: .cascade)),
            ColumnSchema("title", .text, required: true),
          ], unique: [["title"]]),
        TableSchema(
          "pages", zone: .parent("folder_id"),
          columns: [
            ColumnSchema(
              "folder_id", .reference, required: true, reference: Reference(to: "folders", onDelete: .cascade)
            ),
            ColumnSchema("text", .text, required: true),
          ]),
      ])
  }

  @Test(
    "a folder whose name is taken is renamed and sent with its pages, and what is unrelated went at once (I3, I6, I7, I12)"
  )
  func renamed() async throws {
    let scene = try Scene(schema: try Self.schema())
    let phone = try await scene.signUp("ann", on: "phone")
    let list = try await phone.store.write { db in
      let list = Shelf(id: db.newID(), title: "Home")
      try db.insert(list)
      return list.id
    }
    try await phone.engine.sync()
    let laptop = try await scene.signIn("ann", on: "laptop")
    try await laptop.engine.sync()

    let folder = try await laptop.store.write { db in
      let folder = Folder(id: db.newID(), list_id: list, title: "Work")
      try db.insert(folder)
      return folder.id
    }
    let page = try await laptop.store.write { db in
      let page = Page(id: db.newID(), folder_id: folder, text: "one")
      try db.insert(page)
      return page.id
    }
    try await laptop.store.write { try $0.insert(Folder(id: $0.newID(), list_id: list, title: "Garden")) }
    try await laptop.store.write { try $0.update(Page.self, id: page) { $0.text = "two" } }
    try await phone.store.write { try $0.insert(Folder(id: $0.newID(), list_id: list, title: "Work")) }
    for device in [phone, laptop, phone] { try await device.engine.sync() }

    let sets = try await laptop.store.quarantined()
    #expect(sets.map(\.problem?.code) == [.uniqueTaken, .referenceMissing, .recordUnknown])
    let root = try #require(sets.first)
    #expect(root.dependents == sets.dropFirst().map(\.number))
    #expect(try phone.contents(scene.schema) == laptop.contents(scene.schema))
    #expect(try await titles(phone) == ["Garden", "Work"])

    let error = await #expect(throws: StoreError.self) { try await laptop.store.resend(root.number) }
    #expect(error?.code == .operationRefused)
    try await laptop.store.resend(root.number) { $0[0]["title"] = "Work at home" }
    for device in [laptop, phone] { try await device.engine.sync() }
    #expect(try await titles(phone) == ["Garden", "Work", "Work at home"])
    #expect(try await phone.store.read { try $0.find(Page.self, id: page) }?.text == "two")
    #expect(try await laptop.store.quarantined().isEmpty)
    #expect(try phone.contents(scene.schema) == laptop.contents(scene.schema))
    try scene.server.database().expectSound()
  }

  @Test("what finds a zone full waits in quarantine with that reason, and goes when there is room (I3, I12)")
  func full() async throws {
    // The list, its owner, and three folders.
    let scene = try Scene(schema: try Self.schema(), options: ["--zone-records", "5"])
    let phone = try await scene.signUp("ann", on: "phone")
    let list = try await phone.store.write { db in
      let list = Shelf(id: db.newID(), title: "Home")
      try db.insert(list)
      return list.id
    }
    for title in ["a", "b", "c", "d"] {
      try await phone.store.write { try $0.insert(Folder(id: $0.newID(), list_id: list, title: title)) }
    }
    try await phone.engine.sync()
    let waiting = try #require(try await phone.store.quarantined().first)
    #expect(waiting.problem?.code == .zoneFull)
    #expect(try await titles(phone) == ["a", "b", "c"])
    try await phone.store.write { db in
      let first = try db.fetch(Folder.self, "SELECT * FROM folders WHERE title = 'a'")
      try db.delete(Folder.self, id: first[0].id)
    }
    try await phone.engine.sync()
    try await phone.store.resend(waiting.number)
    try await phone.engine.sync()
    #expect(try await phone.store.quarantined().isEmpty)
    #expect(try await titles(phone) == ["b", "c", "d"])
    try scene.server.database().expectSound()
  }

  @Test("a list beyond the zones that an operator grants a user waits in quarantine (I3, I12)")
  func manyZones() async throws {
    // The user's own zone, and one list.
    let scene = try Scene(schema: try Self.schema(), options: ["--user-zones", "2"])
    let phone = try await scene.signUp("ann", on: "phone")
    for title in ["Home", "Work"] {
      try await phone.store.write { try $0.insert(Shelf(id: $0.newID(), title: title)) }
    }
    try await phone.engine.sync()
    #expect(try await phone.store.quarantined().map { $0.problem?.code } == [.userLimit])
    #expect(try await phone.store.read { try $0.fetch(String.self, "SELECT title FROM lists") } == ["Home"])
    try scene.server.database().expectSound()
  }

  private func titles(_ device: Device) async throws -> [String] {
    try await device.store.read { try $0.fetch(String.self, "SELECT title FROM folders ORDER BY title") }
  }
}
