import Foundation
import Holdfast
import HoldfastCore
import Testing

/// Two people share a shopping list, "Things We Need", and both buy the coffee grinder.
///
/// What it takes: three steps, the edit, the answer and the acknowledgement, after which both sides know where they stand; the least data
/// possible, at each launch; any number of devices; a deletion that is kept until every device that had the item has heard of it.
///
/// What was left open: two people delete the same item, and the second gets an error and keeps two coffee grinders; an edit that loses against a
/// newer one is gone, and its author sees the other value without a word, for want of a dialog that asks which one is meant.
@Suite("The coffee grinder that two people delete")
struct CoffeeGrinderTests {
  /// He has a phone and a tablet, she has a phone.
  private struct Family {
    let scene: Scene
    let his: Device
    let way: BreakingTransport
    let tablet: Device
    let hers: Device
    let list: String

    var devices: [Device] { [his, tablet, hers] }

    /// All devices sync until each has what the others wrote.
    func settle() async throws {
      for device in devices + devices { try await device.engine.sync() }
    }
  }

  @Test(
    "is gone for both without an error, from every device, however late it asks; and no edit is lost without a word (I3, I7, I8)"
  )
  func coffeeGrinder() async throws {
    let scene = try Scene(schema: Scene.jotSchema())
    let family = try await threeSteps(scene)
    try await leastData(family)
    try await deletedByBoth(family)
    try await toldAtOnce(family)
    try await outOfTheTrash(family)
    try await whichOneIsMeant(family)
    try await family.settle()
    try await scene.expectAgreement(family.devices)
  }

  private func add(_ titles: [String], to list: String, on device: Device) async throws {
    try await device.store.write { db in
      try db.insert(
        titles.map { Row(id: db.newID(), list_id: list, title: $0, position: "") }, at: .last)
    }
  }

  private func titles(_ device: Device) async throws -> [String] {
    try await device.store.read { try $0.fetch(String.self, "SELECT title FROM items ORDER BY position, id") }
  }

  /// A list goes up, the answer comes, and the next request acknowledges it: then nothing is left to say.
  private func threeSteps(_ scene: Scene) async throws -> Family {
    let way = BreakingTransport(scene.server.address)
    let his = try Device("his", in: scene.folder, transport: way, schema: scene.schema)
    try await his.engine.signUp(name: "rick", password: "correct-horse", device: "phone")
    let hers = try await scene.signUp("anna", on: "hers")
    let tablet = try await scene.signIn("rick", on: "tablet")
    for device in [his, hers, tablet] { try await device.engine.sync() }
    let list = try await his.store.write { db in
      let list = db.newID()
      try db.execute("INSERT INTO lists (id, title) VALUES (?, 'Things We Need')", [.text(list)])
      try db.execute("INSERT INTO members (zone, name, role) VALUES (?, 'anna', 'editor')", [.text(list)])
      return list
    }
    try await add(["Bread", "Bananas", "Coffee grinder"], to: list, on: his)
    for _ in 0..<3 { try await his.engine.sync() }
    try scene.acceptAll("anna")
    let (edit, acknowledgement, nothing) = (way.syncs[1], way.syncs[2], way.syncs[3])
    #expect(edit["change_sets"]?.elements?.map { $0.elements?.count } == [2, 3])
    #expect(acknowledgement["change_sets"] == nil && acknowledgement["acks"]?[list] != nil)
    #expect(acknowledgement["acknowledged_refusals"] == 5)
    #expect(nothing["change_sets"] == nil && nothing["acks"]?[list] == nil)
    return Family(scene: scene, his: his, way: way, tablet: tablet, hers: hers, list: list)
  }

  /// A launch brings what is new to this device and nothing else, and sends the columns that were edited.
  private func leastData(_ family: Family) async throws {
    // The list, two members, three items.
    for device in [family.hers, family.tablet] { #expect(try await device.engine.sync().received == 6) }
    #expect(try await family.hers.engine.sync().received == 0)
    try await family.his.store.write { try $0.execute("UPDATE items SET done = 1 WHERE title = 'Bread'") }
    try await family.his.engine.sync()
    let sent = family.way.syncs.last?["change_sets"]?.elements?.first?.elements?.first
    #expect(sent?["columns"]?.members?.map(\.name) == ["done"])
    let launch = try await family.hers.engine.sync()
    #expect(launch.sent == 0 && launch.received == 1)
    #expect(try await family.tablet.engine.sync().received == 1)
  }

  /// Both buy it, both delete it; the tablet at home, which is away longest, has even edited it.
  private func deletedByBoth(_ family: Family) async throws {
    let delete = "DELETE FROM items WHERE title = 'Coffee grinder'"
    let id = try #require(
      try await family.his.store.read {
        try $0.first(String.self, "SELECT id FROM items WHERE title = 'Coffee grinder'")
      })
    try await family.tablet.store.write {
      try $0.execute("UPDATE items SET note = 'the blue one' WHERE id = ?", [.text(id)])
    }
    for device in [family.his, family.hers] {
      try await device.store.write { try $0.execute(delete) }
      try await device.engine.sync()
      #expect(try await titles(device) == ["Bread", "Bananas"])
      #expect(try await device.store.quarantined().isEmpty)
    }
    // One device has not heard of it yet: so long it is kept.
    let web = try family.scene.rest("anna")
    let purge = ["purge", "--keep-tombstones", "0"]
    try family.scene.operate(purge)
    #expect(try web.send("GET", "/v1/tables/items/\(id)").status == 410)
    // Nothing was lost by it: there is nothing to tell.
    #expect(try await family.hers.store.read { try $0.conflicts() }.isEmpty)
    // The tablet comes with an edit of what is gone: it stays gone, and the edit is in the log.
    try await family.settle()
    for device in family.devices {
      #expect(try await titles(device) == ["Bread", "Bananas"])
      let log = try await device.store.read { try $0.conflicts() }
      #expect(log.map(\.loser.value) == ["the blue one"] && log.allSatisfy(\.isDeletion))
    }
    // A device that never had it does not get it.
    let laptop = try await family.scene.signIn("anna", on: "laptop")
    try await laptop.engine.sync()
    #expect(try await titles(laptop) == ["Bread", "Bananas"])
    for _ in 0..<2 { #expect(try web.send("DELETE", "/v1/tables/items/\(id)").status == 200) }
    // All have heard of it, and have said so: now it is purged, and is as if it had never been.
    for device in family.devices + [laptop] { try await device.engine.sync() }
    try family.scene.operate(purge)
    #expect(try web.send("GET", "/v1/tables/items/\(id)").status == 404)
    for device in family.devices + [laptop] { #expect(try await device.engine.sync().received == 0) }
    try await family.scene.expectAgreement(family.devices + [laptop])
  }

  /// While she has the app open she sees what he deletes before she buys it too.
  private func toldAtOnce(_ family: Family) async throws {
    let open = SyncEngine(store: family.hers.store, server: family.scene.server.address)
    let run = Task { await open.run() }
    defer { run.cancel() }
    for title in ["Coffee", "Filters", "Milk"] {
      try await add([title], to: family.list, on: family.his)
      try await family.his.engine.sync()
      try await waitFor(title, count: 1, on: family.hers)
      try await family.his.store.write { try $0.execute("DELETE FROM items WHERE title = ?", [.text(title)]) }
      try await family.his.engine.sync()
      try await waitFor(title, count: 0, on: family.hers)
    }
  }

  private func waitFor(_ title: String, count: Int, on device: Device) async throws {
    for try await rows in device.store.live(
      String.self, "SELECT title FROM items WHERE title = ?", [.text(title)])
    where rows.count == count { return }
  }

  /// A deletion is like the trash: what was in it can be taken out again, and is there for all.
  private func outOfTheTrash(_ family: Family) async throws {
    try await family.settle()
    try await family.his.store.write { try $0.execute("DELETE FROM items WHERE title = 'Bananas'") }
    try await family.settle()
    #expect(try await titles(family.hers) == ["Bread"])
    try await family.his.store.undo()
    try await family.settle()
    for device in family.devices { #expect(try await titles(device) == ["Bread", "Bananas"]) }
  }

  /// Both rename the same item. Nobody's word vanishes: both are asked, one answers.
  private func whichOneIsMeant(_ family: Family) async throws {
    for (device, title) in [(family.his, "Rye bread"), (family.hers, "White bread")] {
      try await device.store.write {
        try $0.execute("UPDATE items SET title = ? WHERE title = 'Bread'", [.text(title)])
      }
    }
    try await family.settle()
    let question = try #require(
      try await family.hers.store.read { try $0.conflicts(onlyOpen: true) }.first)
    #expect(question.base == "Bread")
    #expect(Set([question.winner.value, question.loser.value]) == ["Rye bread", "White bread"])
    try await family.hers.store.write { try $0.resolve(question, taking: .value("Rye and white bread")) }
    try await family.settle()
    for device in family.devices {
      #expect(try await titles(device) == ["Rye and white bread", "Bananas"])
      #expect(try await device.store.read { try $0.conflicts(onlyOpen: true) }.isEmpty)
    }
  }
}
