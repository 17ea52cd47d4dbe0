import Foundation
import Testing

@testable import Holdfast

@Suite("Applying answers")
struct ApplyingTests {
  private func downloaded() async throws -> Fixture {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(IDs.part(IDs.listChange + "," + IDs.itemChange("Milk")))
    return fixture
  }

  private func title(_ fixture: Fixture) async throws -> SQLiteValue? {
    try await fixture.value("SELECT title FROM items WHERE id = '\(IDs.item)'")
  }

  @Test("edit while its push is in flight: the answer takes neither the newer edit nor its dirty mark (I3)")
  func editInFlight() async throws {
    let fixture = try await downloaded()
    try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.title = "first" } }
    let (number, chain) = try await fixture.store.writer.perform {
      (try $0.state().nextNumber - 1, try $0.state().chain.text)
    }
    try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.title = "second" } }
    let part = IDs.part(IDs.itemChange("first", rev: 2, done: true), from: "0000000a.2", to: "0000000a.3")
    _ = try await fixture.answer(
      body: Fixture.whole(
        #"{"clock":"0193aaaa00000000","confirmed":\#(number),"chain":"\#(chain)",\#(part)}"#))
    #expect(try await title(fixture) == .text("second"))
    #expect(try await fixture.value("SELECT done FROM items") == .integer(1))
    #expect(try await fixture.store.waitingOperations() == 1)
    #expect(try await fixture.value("SELECT base FROM holdfast_edits") == .text("first"))
  }

  /// Creates an item offline, and gives the number of its change set.
  private func created(_ title: String, _ fixture: Fixture) async throws -> (id: String, set: Int64) {
    let id = try await fixture.store.write { db in
      let item = Item(id: db.newID(), list_id: IDs.list, title: title)
      try db.insert(item)
      return item.id
    }
    return (id, try await fixture.store.writer.perform { try $0.state().nextNumber - 1 })
  }

  @Test(
    "records that an answer takes as they were sent are the server's from then on, and keep later edits (I3, I4)"
  )
  func asSent() async throws {
    let fixture = try await downloaded()
    let (plain, first) = try await created("Bread", fixture)
    let (edited, second) = try await created("Salt", fixture)
    let (deleted, third) = try await created("Tea", fixture)
    let chain = try await fixture.store.writer.perform { try $0.state().chain.text }
    try await fixture.store.write { db in
      try db.update(Item.self, id: edited) { $0.title = "Sugar" }
      try db.delete(Item.self, id: deleted)
    }
    let part =
      #""zones":[{"zone":"\#(IDs.list)","role":"owner","from":"0000000a.2","changes":[],"as_sent":[\#(first),\#(second),\#(third)],"#
      + #""count":3,"to":"0000000a.5","more":false,"remaining":0}]"#
    let applied = try await fixture.answer(
      body: Fixture.whole(#"{"clock":"0193aaaa00000000","confirmed":\#(third),"chain":"\#(chain)",\#(part)}"#)
    )
    #expect(applied.changes == 3)
    func row(_ id: String) async throws -> [SQLiteValue]? {
      try await fixture.store.read {
        try $0.rows("SELECT title, zone, rev FROM items WHERE id = \(id)").rows.first
      }
    }
    #expect(try await row(plain) == [.text("Bread"), .text(IDs.list), .integer(1)])
    #expect(try await row(edited) == [.text("Sugar"), .text(IDs.list), .integer(1)])
    #expect(try await row(deleted) == nil)
    #expect(
      try await fixture.value("SELECT base FROM holdfast_edits WHERE id = '\(edited)'") == .text("Salt"))
    #expect(
      try await fixture.value("SELECT count(*) FROM holdfast_edits WHERE id = '\(deleted)' AND rev = 1")
        != .integer(0))
    #expect(
      try await fixture.value("SELECT ack FROM holdfast_zones WHERE zone = '\(IDs.list)'")
        == .text("0000000a.5"))
  }

  @Test("a zone of which something was sent that is not here begins again (I4)", arguments: [true, false])
  func asSentMissing(isGone: Bool) async throws {
    let fixture = try await downloaded()
    let (id, set) = try await created("Bread", fixture)
    if isGone {
      try await fixture.store.writer.perform { local in
        try local.whileApplying { try local.connection.run("DELETE FROM items WHERE id = ?", [.text(id)]) }
      }
    }
    let part =
      #""zones":[{"zone":"\#(IDs.list)","role":"owner","from":"0000000a.2","changes":[],"as_sent":[\#(isGone ? set : set + 7)],"#
      + #""count":1,"to":"0000000a.3","more":false,"remaining":0}]"#
    let applied = try await fixture.confirm(part)
    #expect(applied.hasMore)
    #expect(try await fixture.value("SELECT ack FROM holdfast_zones WHERE zone = '\(IDs.list)'") == .text(""))
    #expect(try await fixture.store.waitingOperations() == 1)
  }

  @Test("a page is not shown before its zone is whole, and is still there after a new start (I6, I4)")
  func pages() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    let first = try await fixture.answer(IDs.part(IDs.listChange, to: "0000000a.1", more: true))
    #expect(first.hasMore)
    #expect(try await fixture.value("SELECT count(*) FROM lists") == .integer(0))
    let again = try Store(path: fixture.path, schema: fixture.store.schema)
    let request = try #require(
      try await again.writer.perform { try RequestPreparation(database: $0).prepare(changeSetLimit: 1) })
    #expect(request.acks == [.init(zone: IDs.list, token: "0000000a.1")])
    try await fixture.answer(IDs.part(IDs.itemChange("Milk"), from: "0000000a.1"))
    #expect(
      try await fixture.value("SELECT count(*) FROM items JOIN lists ON lists.id = list_id") == .integer(1))
  }

  @Test("a part that follows another token than ours is skipped (I4)")
  func stalePart() async throws {
    let fixture = try await downloaded()
    let applied = try await fixture.answer(
      IDs.part(IDs.itemChange("old"), from: "0000000a.1", to: "0000000a.9"))
    #expect(applied.hasMore)
    #expect(try await title(fixture) == .text("Milk"))
  }

  @Test("a refused update returns to the server's newest value and waits in quarantine (I3, I7)")
  func refusedUpdate() async throws {
    let fixture = try await downloaded()
    try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.title = "mine" } }
    try await fixture.answer(IDs.part(IDs.itemChange("theirs", rev: 2), from: "0000000a.2", to: "0000000a.3"))
    #expect(try await title(fixture) == .text("mine"))
    try await fixture.confirm("\"zones\":[]", refusing: 1)
    #expect(try await title(fixture) == .text("theirs"))
    let quarantined = try await fixture.store.quarantined()
    #expect(quarantined.count == 1)
    #expect(quarantined.first?.operations.first?["title"] == "mine")
  }

  @Test("a refused delete puts the record back with what the server said meanwhile (I3, I7)")
  func refusedDelete() async throws {
    let fixture = try await downloaded()
    try await fixture.store.write { db in
      try db.update(Item.self, id: IDs.item) { $0.title = "mine" }
      try db.delete(Item.self, id: IDs.item)
    }
    try await fixture.answer(
      IDs.part(IDs.itemChange("theirs", rev: 5, done: true), from: "0000000a.2", to: "0000000a.3"))
    #expect(try await title(fixture) == nil)
    try await fixture.confirm("\"zones\":[]", refusing: 1)
    #expect(try await title(fixture) == .text("theirs"))
    #expect(try await fixture.value("SELECT rev FROM items") == .integer(5))
    #expect(try await fixture.value("SELECT count(*) FROM holdfast_edits") == .integer(0))
  }

  @Test("a refused create goes, and its children made here go with it, all kept (I3, I9)")
  func refusedCreate() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    try await fixture.store.write { try $0.insert(Item(id: IDs.item, list_id: IDs.list, title: "Milk")) }
    let chain = try await fixture.store.writer.perform {
      try $0.connection.value("SELECT chain FROM holdfast_outbox WHERE first = 1")?.text ?? ""
    }
    let refused = #"[{"first":1,"last":1,"operation":1,"problem":{"code":"unique-taken"}}]"#
    _ = try await fixture.answer(
      body: Fixture.whole(
        #"{"clock":"0193aaaa00000000","confirmed":1,"chain":"\#(chain)","refused":\#(refused)}"#))
    #expect(try await fixture.value("SELECT count(*) FROM lists") == .integer(0))
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(0))
    #expect(try await fixture.store.quarantined().count == 1)
    #expect(try await fixture.store.waitingOperations() == 1)
  }

  @Test(
    "a parent deleted elsewhere while a child was made here: no orphan, and the child is still sent (I3, I9)")
  func parentDeleted() async throws {
    let fixture = try await downloaded()
    try await fixture.store.write { try $0.insert(Item(id: $0.newID(), list_id: IDs.list, title: "Bread")) }
    let gone =
      #"{"table":"lists","id":"\#(IDs.list)","rev":2,"seq":4,"deleted":true,"deleted_at":"2026-01-01T00:00:00.000Z"}"#
    try await fixture.answer(IDs.part(IDs.itemGone + "," + gone, from: "0000000a.2", to: "0000000a.4"))
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(0))
    #expect(try await fixture.value("SELECT count(*) FROM pragma_foreign_key_check") == .integer(0))
    #expect(try await fixture.store.waitingOperations() == 1)
  }

  @Test("an item moved here under a parent that was deleted elsewhere returns to its own (I9)")
  func movedUnderDeleted() async throws {
    let fixture = try await downloaded()
    let other = #"{"table":"lists","id":"\#(IDs.other)","rev":1,"seq":1,"columns":{"title":"Other"}}"#
    try await fixture.answer(
      #""zones":[{"zone":"\#(IDs.other)","role":"owner","from":"","to":"0000000a.1","more":false,"changes":[\#(other)]}]"#
    )
    try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.list_id = IDs.other } }
    try await fixture.answer("\"lost\":[\"\(IDs.other)\"]")
    #expect(try await fixture.value("SELECT list_id FROM items") == .text(IDs.list))
    #expect(try await fixture.store.waitingOperations() == 1)
  }

  @Test("a lost zone leaves the device, and its acks say so (I10)")
  func lost() async throws {
    let fixture = try await downloaded()
    try await fixture.answer("\"lost\":[\"\(IDs.list)\"]")
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(0))
    let request = try #require(
      try await fixture.store.writer.perform {
        try RequestPreparation(database: $0).prepare(changeSetLimit: 1)
      })
    #expect(request.acks == [.init(zone: IDs.list, token: nil)])
  }

  @Test("a reset keeps what was typed here and drops what the server no longer has (I3, I8)")
  func reset() async throws {
    let fixture = try await downloaded()
    try await fixture.store.write { try $0.insert(Item(id: $0.newID(), list_id: IDs.list, title: "Bread")) }
    let applied = try await fixture.answer(#""zones":[{"zone":"\#(IDs.list)","reset":true}]"#)
    #expect(applied.hasMore)
    #expect(try await title(fixture) == .text("Milk"))
    try await fixture.answer(IDs.part(IDs.listChange, to: "0000000b.9"))
    #expect(try await title(fixture) == nil)
    #expect(try await fixture.value("SELECT title FROM items") == .text("Bread"))
    #expect(try await fixture.store.waitingOperations() == 1)
  }

  @Test("a tombstone of a zone that the record has left does not remove it (I7)")
  func departure() async throws {
    let fixture = try await downloaded()
    let other = #"{"table":"lists","id":"\#(IDs.other)","rev":1,"seq":1,"columns":{"title":"Other"}}"#
    let moved = IDs.itemChange("Milk", rev: 2).replacingOccurrences(
      of: "\"list_id\":\"\(IDs.list)\"", with: "\"list_id\":\"\(IDs.other)\"")
    try await fixture.answer(
      """
      "zones":[{"zone":"\(IDs.list)","role":"owner","from":"0000000a.2","to":"0000000a.3","more":false,"changes":[\(IDs.itemGone)]},
      {"zone":"\(IDs.other)","role":"owner","from":"","to":"0000000a.2","more":false,"changes":[\(other),\(moved)]}]
      """)
    #expect(try await fixture.value("SELECT zone FROM items") == .text(IDs.other))
  }

  @Test("a record that was made and moved here before it was sent goes with its tombstone (I7, I8)")
  func movedBeforeSent() async throws {
    let fixture = try await downloaded()
    let other = #"{"table":"lists","id":"\#(IDs.other)","rev":1,"seq":1,"columns":{"title":"Other"}}"#
    try await fixture.answer(
      #""zones":[{"zone":"\#(IDs.other)","role":"owner","from":"","to":"0000000a.1","more":false,"changes":[\#(other)]}]"#
    )
    let id = "0193aaaa-0000-7000-8000-000000000021"
    try await fixture.store.write { db in
      try db.insert(Item(id: id, list_id: IDs.list, title: "Bread"))
      try db.update(Item.self, id: id) { $0.list_id = IDs.other }
    }
    let row = try await fixture.store.writer.perform { local in
      _ = try RequestPreparation(database: local).prepare(changeSetLimit: 1)
      return try local.connection.rows("SELECT last, chain FROM holdfast_outbox")[0]
    }
    let (last, chain) = (try #require(row.first?.integer), try #require(row.last?.text))
    // A copy of this device has sent it, too, and deleted it.
    let gone = IDs.itemGone.replacingOccurrences(of: IDs.item, with: id)
    _ = try await fixture.answer(
      body: Fixture.whole(
        """
        {"clock":"0193aaaa00000000","confirmed":\(last),"chain":"\(chain)",
        "zones":[{"zone":"\(IDs.other)","role":"owner","from":"0000000a.1","to":"0000000a.3","more":false,"changes":[\(gone)]}]}
        """))
    #expect(try await fixture.value("SELECT count(*) FROM items WHERE id = '\(id)'") == .integer(0))
    #expect(try await fixture.store.waitingOperations() == 0)
  }

  @Test("a server that knows other content under our numbers is noticed, and nothing is applied (I1, I3)")
  func diverged() async throws {
    let fixture = try await downloaded()
    try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.title = "mine" } }
    await #expect(throws: Inapplicable.self) {
      _ = try await fixture.answer(
        body: Fixture.whole(#"{"clock":"0193aaaa00000000","confirmed":1,"chain":"1111111111111111"}"#))
    }
    #expect(try await fixture.store.waitingOperations() == 1)
    try await fixture.signIn(device: "0193aaaa-0000-7000-8000-00000000000e")
    let request = try #require(
      try await fixture.store.writer.perform {
        try RequestPreparation(database: $0).prepare(changeSetLimit: 1)
      })
    #expect(request.operations == 1)
    #expect(try await fixture.value("SELECT first FROM holdfast_outbox") == .integer(1))
  }

  @Test("a child that comes without its parent stops neither the others nor the answer (I9, I12)")
  func orphanFromServer() async throws {
    let fixture = try await downloaded()
    let orphan = IDs.itemChange("Orphan").replacingOccurrences(of: IDs.item, with: IDs.other)
      .replacingOccurrences(of: "\"list_id\":\"\(IDs.list)\"", with: "\"list_id\":\"\(IDs.item)\"")
    try await fixture.answer(
      IDs.part(orphan + "," + IDs.itemChange("Oat milk", rev: 2), from: "0000000a.2", to: "0000000a.3"))
    #expect(try await fixture.value("SELECT group_concat(title) FROM items") == .text("Oat milk"))
  }

  @Test("removing the data of a signed-out user does not drop unsent edits silently (I3)")
  func signOut() async throws {
    let fixture = try await downloaded()
    try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.title = "mine" } }
    let error = await #expect(throws: StoreError.self) {
      try await fixture.store.writer.perform {
        try SignOut(database: $0).run(removingData: true, discardingUnsent: false)
      }
    }
    #expect(error?.code == .unsentEdits)
    #expect(try await fixture.store.account()?.isSignedIn == true)
    try await fixture.store.writer.perform {
      try SignOut(database: $0).run(removingData: true, discardingUnsent: true)
    }
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(0))
    #expect(try await fixture.store.account() == nil)
  }
}
