import Foundation
import Holdfast
import Testing

@testable import Holdfast

@Suite("Reset to pristine")
struct ResetTests {
  /// A device with a list and an item from the server, and an edit of the item that is not sent.
  private func edited() async throws -> Fixture {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(IDs.part("\(IDs.listChange),\(IDs.itemChange("Milk"))"))
    try await fixture.store.write { try $0.execute("UPDATE items SET done = 1") }
    return fixture
  }

  @Test(
    "asks for the zone from its beginning, and shows the old copy and the edit until the new one is here (I3, I6)"
  )
  func reset() async throws {
    let fixture = try await edited()
    try await fixture.store.reset(IDs.list)
    #expect(try await fixture.value("SELECT title || done FROM items")?.text == "Milk1")
    let request = try #require(
      try await fixture.store.writer.perform {
        try RequestPreparation(database: $0).prepare(changeSetLimit: 10)
      })
    #expect(request.acks.map(\.token) == [""])
    let other =
      #"{"table":"items","id":"\#(IDs.other)","rev":1,"seq":9,"columns":{"list_id":"\#(IDs.list)","title":"Bread","done":false,"price":null,"after_id":null}}"#
    // A page more is not the whole zone.
    try await fixture.answer(IDs.part("\(IDs.listChange)", to: "0000000a.1", more: true))
    #expect(try await fixture.value("SELECT count(*) FROM items")?.integer == 1)
    try await fixture.answer(
      IDs.part("\(IDs.itemChange("Oat milk", rev: 2)),\(other)", from: "0000000a.1", to: "0000000a.9"))
    #expect(
      try await fixture.value("SELECT title || done FROM items WHERE id = '\(IDs.item)'")?.text == "Oat milk1"
    )
    #expect(try await fixture.value("SELECT count(*) FROM items")?.integer == 2)
    #expect(try await fixture.store.waitingOperations() == 1)
  }

  @Test("of all zones leaves out those that are not here")
  func all() async throws {
    let fixture = try await edited()
    try await fixture.store.reset("nothing")
    #expect(
      try await fixture.value("SELECT group_concat(zone || ack) FROM holdfast_zones")?.text
        == "\(IDs.list)0000000a.2")
    try await fixture.store.resetAll()
    #expect(try await fixture.value("SELECT group_concat(zone || ack) FROM holdfast_zones")?.text == IDs.list)
  }

  @Test("follows a check that finds a reference without a record, or a zone that is not the device's")
  func checked() async throws {
    let fixture = try await edited()
    #expect(try await fixture.store.repair().isSound)
    let foreign = try SQLiteConnection(path: fixture.path)
    try foreign.execute(
      """
      PRAGMA foreign_keys = OFF; UPDATE holdfast_local SET applying = 1; DELETE FROM lists;
      INSERT INTO lists (id, zone, rev, title) VALUES ('\(IDs.other)', '\(IDs.other)', 3, 'Stray');
      UPDATE holdfast_local SET applying = 0;
      """)
    #expect(try await fixture.store.check().zones == [IDs.list, IDs.other])
    #expect(try await fixture.store.repair().zones == [IDs.list, IDs.other])
    #expect(try await fixture.value("SELECT group_concat(ack) FROM holdfast_zones")?.text == ",")
    // The server: one as it is, the other is none of the device's.
    try await fixture.answer(
      "\"lost\":[\"\(IDs.other)\"]," + IDs.part("\(IDs.listChange),\(IDs.itemChange("Milk"))"))
    #expect(try await fixture.store.check().isSound)
    #expect(try await fixture.value("SELECT title || done FROM items")?.text == "Milk1")
    #expect(try await fixture.value("SELECT group_concat(title) FROM lists")?.text == "Home")
    #expect(try await fixture.store.waitingOperations() == 1)
  }

  @Test("follows a check that finds an index at odds with its table (I3)")
  func damagedIndex() async throws {
    let fixture = try await edited()
    let foreign = try SQLiteConnection(path: fixture.path)
    // The index has the rows of another column from now on; its text is the right one.
    try foreign.execute(
      """
      CREATE TEMP TABLE kept AS SELECT sql FROM sqlite_schema WHERE name = 'holdfast_items_of_list_id';
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = 'CREATE INDEX "holdfast_items_of_list_id" ON "items" ("title")'
      WHERE name = 'holdfast_items_of_list_id';
      PRAGMA writable_schema = RESET;
      REINDEX holdfast_items_of_list_id;
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = (SELECT sql FROM kept) WHERE name = 'holdfast_items_of_list_id';
      PRAGMA writable_schema = RESET;
      """)
    let store = try Store(path: fixture.path, schema: fixture.store.schema)
    #expect(try await !store.check().file.isEmpty)
    #expect(try await !store.repair().isSound)
    #expect(try await store.check().isSound)
    #expect(
      try await store.read { try $0.rows("SELECT DISTINCT ack FROM holdfast_zones").rows } == [[.text("")]])
    #expect(try await store.waitingOperations() == 1)
  }

  @Test("leaves a zone that a restored server can't give yet (I3, I10)")
  func awaited() async throws {
    let fixture = try await edited()
    let awaited = #""awaiting_recovery":[{"zone":"\#(IDs.list)"}]"#
    try await fixture.answer(awaited)
    try await fixture.store.resetAll()
    // The zone's beginning is nothing that the server knows.
    try await fixture.answer(#""lost":["\#(IDs.list)"]"#)
    #expect(try await fixture.value("SELECT title || done FROM items") == "Milk1")
    let request = try #require(
      try await fixture.store.writer.perform {
        try RequestPreparation(database: $0).prepare(changeSetLimit: 10)
      })
    #expect(request.acks.map(\.token) == ["0000000a.2"])
    try await fixture.answer(awaited)
    #expect(try await fixture.value("SELECT title || done FROM items") == "Milk1")
    #expect(try await fixture.store.quarantined().isEmpty)
    // When it can, the zone comes from its beginning.
    try await fixture.answer(#""resend":false"#)
    #expect(try await fixture.value("SELECT ack FROM holdfast_zones") == "")
  }

  @Test("a sign-out asks before it removes what a restored server has lost (I2, I3)")
  func signOut() async throws {
    let fixture = try await edited()
    try await fixture.confirm(#""zones":[]"#)
    try await fixture.answer(#""awaiting_recovery":[{"zone":"\#(IDs.list)"}]"#)
    #expect(try await fixture.store.waitingOperations() == 0)
    let error = await #expect(throws: StoreError.self) {
      try await fixture.store.writer.perform {
        try SignOut(database: $0).run(removingData: true, discardingUnsent: false)
      }
    }
    #expect(error?.code == .unsentEdits)
    #expect(try await fixture.value("SELECT count(*) FROM items") == 1)
    try await fixture.store.writer.perform {
      try SignOut(database: $0).run(removingData: true, discardingUnsent: true)
    }
    #expect(try await fixture.value("SELECT count(*) FROM items") == 0)
  }
}
