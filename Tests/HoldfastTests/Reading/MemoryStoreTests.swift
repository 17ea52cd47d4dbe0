import Foundation
import Testing

@testable import Holdfast

@Suite("Stores in memory")
struct MemoryStoreTests {
  @Test("a store in memory reads, writes, undoes and is told apart from every other")
  func work() async throws {
    let schema = try #require(Fixture.schema)
    let store = try Store.inMemory(schema: schema) { try $0.insert(List(id: IDs.list, title: "Home")) }
    let other = try Store.inMemory(schema: schema)
    #expect(try store.readNow { try $0.count(List.all) } == 1)
    #expect(try other.readNow { try $0.count(List.all) } == 0)
    try await store.write { try $0.update(List.self, id: IDs.list) { $0.title = "Work" } }
    try await store.undo()
    #expect(try await store.read { try $0.find(List.self, id: IDs.list)?.title } == "Home")
    await #expect(throws: SQLiteError.self) { try await store.read { try $0.execute("DELETE FROM lists") } }
    #expect(throws: SQLiteError.self) { try store.readNow { try $0.execute("DELETE FROM lists") } }
    try await store.write { try $0.insert(List(id: IDs.other, title: "More")) }
    #expect(try await store.waitingOperations() == 4)
  }

  @Test("a store in memory is synced as one in a file (I7)")
  func sync() async throws {
    let store = try Store.inMemory(schema: try #require(Fixture.schema))
    let body =
      #"{"user":{"id":"0193aaaa-0000-7000-8000-00000000000a","name":"ann"},"device":{"id":"0193aaaa-0000-7000-8000-00000000000d","name":"phone"},"token":"t"}"#
    let session = try #require(Session(body: Array(body.utf8)))
    try await store.writer.perform { try SessionStart(database: $0).adopt(session) }
    // In two parts, of which the first is kept as a page.
    let parts = [
      IDs.part(IDs.listChange, more: true),
      IDs.part(IDs.itemChange("Milk"), from: "0000000a.2", to: "0000000a.3"),
    ]
    for part in parts {
      let answer = Fixture.whole(
        "{\"clock\":\"0193aaaa00000000\",\"confirmed\":0,\"chain\":\"0000000000000000\",\(part)}")
      try await store.writer.perform { local in
        let request = try #require(try RequestPreparation(database: local).prepare(changeSetLimit: 1))
        _ = try AnswerApplying(
          database: local, answer: try SyncAnswer(body: answer), body: answer, request: request
        ).run()
      }
    }
    #expect(try store.readNow { try $0.fetch(Item.all).map(\.title) } == ["Milk"])
  }
}
