import Foundation
import Holdfast
import Testing

@Suite("Sharing over real HTTP")
struct AccessTests {
  /// A list of ann's with one item, shared with bob, on both devices.
  private func shared(_ scene: Scene) async throws -> (ann: Device, bob: Device, list: String) {
    let ann = try await scene.signUp("ann", on: "phone")
    let bob = try await scene.signUp("bob", on: "tablet")
    let list = try await ann.store.write { db in
      let id = db.newID()
      try db.execute("INSERT INTO lists (id, title) VALUES (?, 'Things we need')", [.text(id)])
      try db.insert(
        Row(id: db.newID(), list_id: id, title: "Milk", position: try db.position(after: nil, before: nil)))
      return id
    }
    try await ann.engine.sync()
    // Access granted late: the list's past came before bob was a member.
    try await ann.store.write {
      try $0.execute("INSERT INTO members (zone, name, role) VALUES (?, 'bob', 'editor')", [.text(list)])
    }
    try await ann.engine.sync()
    try await bob.acceptAll()
    try await ann.engine.sync()
    return (ann, bob, list)
  }

  private func titles(_ device: Device) async throws -> [String] {
    try await device.store.read { try $0.fetch(String.self, "SELECT title FROM items ORDER BY title") }
  }

  @Test("access granted late: the zone's whole past arrives (I4)")
  func late() async throws {
    let scene = try Scene()
    let (_, bob, _) = try await shared(scene)
    #expect(try await titles(bob) == ["Milk"])
  }

  @Test("revocation with unsent edits: the records leave the device, the edits wait in quarantine (I3, I10)")
  func revocation() async throws {
    let scene = try Scene()
    let (ann, bob, list) = try await shared(scene)
    try await bob.store.write { db in
      try db.insert(
        Row(id: db.newID(), list_id: list, title: "Bread", position: try db.position(after: nil, before: nil))
      )
    }
    try await ann.store.write { try $0.execute("DELETE FROM members WHERE name = 'bob'") }
    try await ann.engine.sync()
    try await bob.engine.sync()
    #expect(try await titles(bob) == [])
    #expect(try await bob.store.waitingOperations() == 0)
    let quarantined = try await bob.store.quarantined()
    #expect(quarantined.count == 1)
    #expect(quarantined.first?.operations.first?["title"] == "Bread")
    try await ann.engine.sync()
    #expect(try await titles(ann) == ["Milk"])
  }

  @Test(
    "parent deleted while a child was made offline: no orphan anywhere, the child is kept in the conflict log (I3, I9)"
  )
  func parentDeleted() async throws {
    let scene = try Scene()
    let (ann, bob, list) = try await shared(scene)
    try await bob.store.write { db in
      try db.insert(
        Row(id: db.newID(), list_id: list, title: "Bread", position: try db.position(after: nil, before: nil))
      )
    }
    try await ann.store.write { try $0.execute("DELETE FROM lists") }
    for device in [ann, bob, ann] { try await device.engine.sync() }
    #expect(try await bob.store.quarantined().isEmpty)
    let lost = try await ann.store.read {
      try $0.fetch(
        String.self, "SELECT loser_value FROM conflicts WHERE column_name = 'title' AND policy = 'delete'")
    }
    #expect(lost == ["\"Bread\""])
    #expect(try bob.contents(scene.schema) == ann.contents(scene.schema))
    try scene.server.database().expectSound()
  }

  @Test(
    "two devices delete the same record, and another edits it: gone everywhere, the edit in the conflict log (I3, I8)"
  )
  func deletedTwice() async throws {
    let scene = try Scene()
    let (ann, bob, _) = try await shared(scene)
    let laptop = try await scene.signIn("ann", on: "laptop")
    try await laptop.engine.sync()
    try await ann.store.write { try $0.execute("DELETE FROM items") }
    try await bob.store.write { try $0.execute("DELETE FROM items") }
    try await laptop.store.write { try $0.execute("UPDATE items SET title = 'Oat milk'") }
    for device in [ann, bob, laptop, ann, bob] { try await device.engine.sync() }
    for device in [ann, bob, laptop] {
      #expect(try await titles(device) == [])
      let lost = try await device.store.read {
        try $0.fetch(String.self, "SELECT loser_value FROM conflicts WHERE column_name = 'title'")
      }
      #expect(lost == ["\"Oat milk\""])
      #expect(try await device.store.quarantined().isEmpty)
    }
  }
}
