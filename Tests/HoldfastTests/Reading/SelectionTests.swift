import Foundation
import Holdfast
import Testing

@Suite("Selections of records")
struct SelectionTests {
  struct Place: Codable, Equatable, Sendable { var x = 0 }
  enum Kind: String, Codable, CaseIterable, Sendable { case plain, other }
  /// Of each kind of property that a record may have, under names that are not those of the columns.
  struct Thing: Record, Equatable {
    static let table = "things"
    var id: String
    var heading: String
    var isDone: Bool
    var price: Double?
    var count: Int
    var day: Date?
    var kind: Kind
    var place: Place?
    var tags: [String]?
    var double: Int { count * 2 }

    enum CodingKeys: String, CodingKey {
      case id, price, day, kind, place, tags
      case heading = "title"
      case isDone = "done"
      case count = "number"
    }
  }

  private static func store() throws -> Store {
    let schema = try SyncSchema(
      name: "test",
      tables: [
        TableSchema(
          "things", zone: .root,
          columns: [
            ColumnSchema("title", .text, required: true), ColumnSchema("done", .boolean, required: true),
            ColumnSchema("price", .real), ColumnSchema("number", .integer, required: true, policy: .counter),
            ColumnSchema("day", .timestamp), ColumnSchema("kind", .text, required: true),
            ColumnSchema("place", .json), ColumnSchema("tags", .json, policy: .set),
          ])
      ])
    return try Store.inMemory(schema: schema) { db in
      for number in 1...4 {
        try db.insert(
          Thing(
            id: Self.id(number), heading: "t\(number)", isDone: number % 2 == 0,
            price: number == 3 ? nil : Double(number), count: number % 3,
            day: Date(timeIntervalSince1970: Double(number)), kind: number == 1 ? .other : .plain,
            place: Place(x: number), tags: nil))
      }
    }
  }

  private static func id(_ number: Int) -> String { "0193aaaa-0000-7000-8000-00000000000\(number)" }

  private static func numbers(_ selection: RecordSelection<Thing>) async throws -> [Int] {
    try await store().read { try $0.fetch(selection).map { Int($0.heading.dropFirst()) ?? 0 } }
  }

  @Test("conditions find the columns of their properties, by the coding keys")
  func conditions() async throws {
    #expect(try await Self.numbers(Thing.where(\.isDone == true).order(by: \.heading)) == [2, 4])
    #expect(try await Self.numbers(Thing.where(\.price == nil)) == [3])
    #expect(try await Self.numbers(Thing.where(\.price != nil && \.price > 1).order(by: \.price)) == [2, 4])
    #expect(try await Self.numbers(Thing.where(\.kind == .other)) == [1])
    #expect(try await Self.numbers(Thing.where(\.day >= Date(timeIntervalSince1970: 4))) == [4])
    #expect(
      try await Self.numbers(Thing.where(.in(\.id, [Self.id(2), Self.id(3)]) && !(\.isDone == true))) == [3])
    #expect(
      try await Self.numbers(Thing.where(\.id == Self.id(1) || \.count == 0).order(by: \.id)) == [1, 3])
    #expect(try await Self.numbers(Thing.where(\.place == Place(x: 2))) == [2])
    #expect(try await Self.numbers(Thing.where(.sql("title LIKE \("%4")"))) == [4])
    #expect(try await Self.numbers(Thing.where(\.count < 2).where(\.count <= 0)) == [3])
  }

  @Test("records come in the order that is asked for, and of equal ones by their ids")
  func orders() async throws {
    #expect(try await Self.numbers(Thing.order(by: \.count)) == [3, 1, 4, 2])
    #expect(
      try await Self.numbers(Thing.order(by: \.count, descending: true).order(by: \.heading)) == [2, 1, 4, 3])
    #expect(try await Self.numbers(Thing.order(by: \.heading).limit(2, offset: 1)) == [2, 3])
    let store = try Self.store()
    let (count, first) = try await store.read { db in
      (
        try db.count(Thing.where(\.isDone == false)),
        try db.first(Thing.order(by: \.heading, descending: true))
      )
    }
    #expect(count == 2)
    #expect(first?.heading == "t4")
  }

  @Test("what is no stored property of the record is named in the error")
  func computed() async throws {
    let store = try Self.store()
    await #expect(throws: StoreError.self) {
      try await store.read { try $0.fetch(Thing.where(\.double == 2)) }
    }
    await #expect(throws: StoreError.self) {
      try await store.read { try $0.fetch(Thing.where(\.heading.count == 2)) }
    }
  }

  @Test("members, conflicts and refused change sets are records that can be queried")
  func builtIn() async throws {
    let store = try Self.store()
    try await store.write { db in
      try db.insert(Member(id: db.newID(), zone: Self.id(1), name: "bob", role: .editor))
    }
    let (members, conflicts, refused) = try await store.read { db in
      (
        try db.fetch(Member.where(\.zone == Self.id(1) && \.role == .editor && \.invitedBy == nil)),
        try db.fetch(Conflict.where(\.recordTable == "things" && \.resolution == nil)),
        try QuarantinedChangeSet.all(in: db)
      )
    }
    #expect(members.map(\.name) == ["bob"])
    #expect(conflicts.isEmpty && refused.isEmpty)
  }
}
