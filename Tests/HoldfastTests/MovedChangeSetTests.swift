import Foundation
import Testing

@testable import Holdfast

/// Refused change sets that go along with a zone to the file of another database: docs/MOVING.md, section 4.
@Suite struct MovedChangeSetTests {
  /// The file of the database that had the zone, and that of the one that has it.
  private let source: Fixture
  private let target: Fixture

  /// The source has an edit and a new item of the list in quarantine, as the list has moved.
  init() async throws {
    (source, target) = (try Fixture(), try Fixture())
    for fixture in [source, target] { try await fixture.signIn() }
    try await source.answer(IDs.part("\(IDs.listChange),\(IDs.itemChange("Milk", rev: 3))"))
    try await source.store.write { try $0.update(Item.self, id: IDs.item) { $0.title = "Oat milk" } }
    try await source.store.write {
      try $0.insert(Item(id: $0.newID(), list_id: IDs.list, title: "Tea"))
    }
    var problem = Problem(.zoneMoved)
    (problem.zone, problem.database) = (IDs.list, "b")
    let document = String(decoding: problem.document, as: UTF8.self)
    let refused = [1, 2].map {
      #"{"first":\#($0),"last":\#($0),"operation":\#($0),"problem":\#(document)}"#
    }
    let state = try await source.store.writer.perform { try $0.state() }
    let applied = try await source.answer(
      body: Fixture.whole(
        #"{"clock":"0193aaaa00000000","confirmed":2,"chain":"\#(state.chain.text)","refused":[\#(refused.joined(separator: ","))],"lost":["\#(IDs.list)"],"moved":[{"zone":"\#(IDs.list)","database":"b"}]}"#
      ))
    #expect(applied.moved == 3 && applied.quarantined == 2)
    #expect(try await source.value("SELECT count(*) FROM items") == 0)
  }

  private func sets() async throws -> [MovedChangeSet] {
    try await source.store.writer.perform { try MovedChangeSets(database: $0).all() }
  }

  private func take(_ set: MovedChangeSet) async throws -> Bool {
    try await target.store.writer.perform { try MovedChangeSets(database: $0).take(set) }
  }

  @Test("they wait until the zone is whole there; then they are based on the revs of before (I3)")
  func revs() async throws {
    let sets = try await sets()
    #expect(sets.map(\.zone) == [IDs.list, IDs.list])
    #expect(try await !take(sets[0]))
    try await target.answer(IDs.part(IDs.listChange, to: "0000000b.1", more: true))
    #expect(try await !take(sets[0]))
    try await target.answer(
      IDs.part(IDs.itemChange("Soy milk", rev: 5), from: "0000000b.1", to: "0000000b.2"))
    for set in sets { #expect(try await take(set)) }
    let sent = try await target.outbox().compactMap { $0.elements?.first }
    #expect(sent.map { $0["op"] } == ["update", "create"])
    #expect(sent.map { $0["columns"]?["title"] } == ["Oat milk", "Tea"])
    #expect(sent[0]["rev"] == 3, "what was written since goes into the log of conflicts")
    #expect(sent[0]["base"]?["title"] == "Milk", "the base counts before the rev")
  }

  @Test("a deletion of what is not there yet is sent: what is here may be older than the record (I3, I8)")
  func deletion() async throws {
    try await target.answer(IDs.part(IDs.listChange))
    let body = #"[{"op":"delete","table":"items","id":"\#(IDs.item)","rev":3,"at":"0193aaaa00000000"}]"#
    let set = MovedChangeSet(number: 1, origin: "a1", zone: IDs.list, sets: [(Array(body.utf8), "a1")])
    #expect(try await take(set))
    let sent = try await target.outbox().compactMap { $0.elements?.first }
    #expect(sent.map { [$0["op"], $0["id"], $0["rev"]] } == [["delete", .string(IDs.item), 3]])
  }

  @Test("each is written once, however often it is found in quarantine (I1)") func once() async throws {
    try await target.answer(IDs.part("\(IDs.listChange),\(IDs.itemChange("Milk", rev: 3))"))
    let sets = try await sets()
    for _ in 0..<3 { for set in sets { #expect(try await take(set)) } }
    #expect(try await target.outbox().count == 2)
    for set in sets { try await source.store.discard(set.number) }
    #expect(try await source.store.quarantined().isEmpty)
  }

  @Test("what was not sent before the move is carried too, whatever the server says of it then (I3)")
  func later() async throws {
    let device = try Fixture()
    try await device.signIn()
    try await device.answer(IDs.part("\(IDs.listChange),\(IDs.itemChange("Milk", rev: 3))"))
    try await device.store.write { try $0.update(Item.self, id: IDs.item) { $0.title = "Oat milk" } }
    try await device.store.write { db in try db.execute("DELETE FROM items WHERE id = ?", [.text(IDs.item)]) }
    try await device.store.write { try $0.insert(List(id: IDs.other, title: "Elsewhere")) }
    try await device.store.write { db in
      try db.update(List.self, id: IDs.list) { $0.title = "Here" }
      try db.update(List.self, id: IDs.other) { $0.title = "There" }
    }
    func answer(_ confirmed: Int, _ members: String) async throws -> Applied {
      let chain = try await device.value("SELECT chain FROM holdfast_outbox WHERE last = \(confirmed)")?.text
      return try await device.answer(
        body: Fixture.whole(
          #"{"clock":"0193aaaa00000000","confirmed":\#(confirmed),"chain":"\#(chain ?? "0000000000000000")",\#(members)}"#
        ))
    }
    _ = try await answer(0, #""lost":["\#(IDs.list)"],"moved":[{"zone":"\#(IDs.list)","database":"b"}]"#)
    func refused(_ number: Int, _ code: String) -> String {
      #"{"first":\#(number),"last":\#(number),"operation":\#(number),"problem":{"code":"\#(code)","status":404,"title":"?"}}"#
    }
    let problems = [
      refused(1, "record-unknown"), refused(2, "zone-moved"), refused(3, "forbidden"),
      refused(4, "record-unknown").replacing(#""first":4,"last":4"#, with: #""first":4,"last":5"#),
    ]
    let applied = try await answer(5, #""refused":[\#(problems.joined(separator: ","))]"#)
    #expect(applied.quarantined == 4 && applied.moved == 3)
    let sets = try await device.store.writer.perform { try MovedChangeSets(database: $0).all() }
    #expect(
      sets.map(\.number) == [1, 2] && sets.allSatisfy { $0.zone == IDs.list },
      "one about two zones waits for a person")
  }

  @Test("they keep their times, so that what others wrote since prevails (I7)") func times() async throws {
    try await target.answer(IDs.part("\(IDs.listChange),\(IDs.itemChange("Milk", rev: 3))"))
    let sets = try await sets()
    let before = sets.flatMap(\.sets).flatMap { QuarantinedOperation.all($0.body) }.map(\.stamp?.milliseconds)
    try await target.store.writer.perform { local in
      try local.connection.run("UPDATE holdfast_local SET clock = clock + 1000 * 65536 * 3600")
    }
    for set in sets { #expect(try await take(set)) }
    let after = try await target.store.writer.perform { local in
      try local.connection.rows("SELECT body FROM holdfast_outbox ORDER BY first").flatMap {
        QuarantinedOperation.all($0[0].blob ?? [])
      }.map(\.stamp?.milliseconds)
    }
    #expect(before == after && !before.contains(nil))
  }

  @Test("what a rule forbids there stays in quarantine, and nothing of it is written (I6, I12)")
  func forbidden() async throws {
    let other =
      #"{"table":"items","id":"\#(IDs.other)","rev":1,"seq":3,"columns":{"list_id":"\#(IDs.list)","title":"Tea","done":false,"price":null,"after_id":null}}"#
    try await target.answer(
      IDs.part("\(IDs.listChange),\(IDs.itemChange("Milk", rev: 3)),\(other)", to: "0000000a.3"))
    let sets = try await sets()
    #expect(try await take(sets[0]))
    let error = await #expect(throws: StoreError.self) { _ = try await take(sets[1]) }
    #expect(error?.code == .operationRefused)
    #expect(try await target.outbox().count == 1)
    #expect(try await source.store.quarantined().count == 2)
  }

  @Test("copies of a set have one origin, other sets other ones, which are sent with them (I1)")
  func origins() async throws {
    try await target.answer(IDs.part("\(IDs.listChange),\(IDs.itemChange("Milk", rev: 3))"))
    let path = source.path + "-copy"
    try await source.store.writer.perform { try $0.connection.execute("VACUUM INTO '\(path)'") }
    defer { try? FileManager.default.removeItem(atPath: path) }
    let copy = try Store(path: path, schema: source.store.schema)
    let sets = try await sets()
    let copies = try await copy.writer.perform { try MovedChangeSets(database: $0).all() }
    await copy.close()
    #expect(copies.map(\.origin) == sets.map(\.origin) && sets[0].origin != sets[1].origin)
    for set in sets { #expect(try await take(set)) }
    let request = try await target.store.writer.perform {
      try RequestPreparation(database: $0).prepare(changeSetLimit: 500)
    }
    let body = try JSONValue(parsing: try #require(request).body)
    #expect(
      body["carried"] == .array([[1, .string(sets[0].origin)], [2, .string(sets[1].origin)]]))
  }

  /// The target has carried the first set, and the server refuses it.
  private func refuse(_ members: String, _ problem: Problem) async throws -> MovedChangeSet {
    try await target.answer(IDs.part("\(IDs.listChange),\(IDs.itemChange("Milk", rev: 3))"))
    let set = try await sets()[0]
    #expect(try await take(set))
    let document = String(decoding: problem.document, as: UTF8.self)
    _ = try await target.confirm(
      #"\#(members)"refused":[{"first":1,"last":1,"operation":1,"problem":\#(document)}]"#)
    return set
  }

  @Test("one of which a copy took effect is rolled back, and waits for nobody (I1, I7)")
  func alreadyApplied() async throws {
    let set = try await refuse("", Problem(.alreadyApplied))
    #expect(try await target.value("SELECT title FROM items") == .text("Milk"))
    #expect(try await target.store.quarantined().isEmpty)
    #expect(try await target.store.waitingOperations() == 0)
    #expect(try await take(set))
    #expect(try await target.outbox().isEmpty, "it is known here")
  }

  @Test("one whose zone has moved on keeps its origin, and is carried on (I1, I3)")
  func movedOn() async throws {
    let set = try await refuse(
      #""lost":["\#(IDs.list)"],"moved":[{"zone":"\#(IDs.list)","database":"c"}],"#,
      Problem(moved: IDs.list, to: "c"))
    let again = try await target.store.writer.perform { try MovedChangeSets(database: $0).all() }
    #expect(again.map(\.origin) == [set.origin])
    #expect(
      try await !target.store.writer.perform { try MovedChangeSets(database: $0).hasTaken(set) },
      "it may come back here")
    let third = try Fixture()
    try await third.signIn()
    try await third.answer(IDs.part("\(IDs.listChange),\(IDs.itemChange("Milk", rev: 3))"))
    for set in again + [set] {
      #expect(try await third.store.writer.perform { try MovedChangeSets(database: $0).take(set) })
    }
    #expect(try await third.outbox().count == 1)
  }
}
