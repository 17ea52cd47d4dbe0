import Foundation
import Testing

@testable import Holdfast

@Suite("Changing a record as a person has seen it")
struct SeenRecordTests {
  private struct List: Record, Equatable {
    static let table = "lists"
    var id = IDs.list
    var title: String
    var amount: Int?
    var tags: [String]?
    var note: String?
  }

  private let fixture: Fixture
  private let seen: List

  /// A form shows the list; then another device's edits of all columns come.
  init() async throws {
    fixture = try Fixture(schema: try CombiningTests.schema())
    try await fixture.signIn()
    try await fixture.answer(
      IDs.part(CombiningTests.list(1, amount: "5", tags: #"["a","b"]"#, note: #""one two three""#)))
    seen = try #require(await fixture.store.read { try $0.find(List.self, id: IDs.list) })
    let theirs = CombiningTests.list(2, amount: "10", tags: #"["b","c"]"#, note: #""zero one two three""#)
      .replacingOccurrences(of: "Home", with: "House")
    try await fixture.answer(IDs.part(theirs, from: "0000000a.2", to: "0000000a.3"))
  }

  private func save(_ change: @escaping @Sendable (inout List) -> Void) async throws -> List {
    let seen = seen
    let returned = try await fixture.store.write { try $0.update(from: seen, change) }
    let stored = try await fixture.store.read { try $0.find(List.self, id: IDs.list) }
    #expect(stored == returned)
    return returned
  }

  @Test("columns that combine have what others and the person did; the others stay as they are now (I3)")
  func combines() async throws {
    let list = try await save {
      $0.amount = 6
      $0.tags = ["a", "b", "d"]
      $0.note = "one two four"
    }
    #expect(list == List(title: "House", amount: 11, tags: ["b", "c", "d"], note: "zero one two four"))
  }

  @Test("a column that does not combine has what the person wrote")
  func replaces() async throws {
    let list = try await save { $0.title = "Home and garden" }
    #expect(list == List(title: "Home and garden", amount: 10, tags: ["b", "c"], note: "zero one two three"))
  }

  @Test("a person who changed nothing makes no edit")
  func nothing() async throws {
    _ = try await save { _ in }
    #expect(try await fixture.outbox().isEmpty)
  }

  @Test("a record that is gone is an error, and nothing is written")
  func gone() async throws {
    try await fixture.store.write { try $0.delete(List.self, id: IDs.list) }
    let seen = seen
    let error = await #expect(throws: StoreError.self) {
      try await fixture.store.write { try $0.update(from: seen) { $0.title = "Home" } }
    }
    #expect(error?.code == .recordMissing)
  }
}
