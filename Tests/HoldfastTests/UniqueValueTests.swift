import HoldfastSQLite
import Testing

@testable import Holdfast

@Suite("Unique values on the device")
struct UniqueValueTests {
  private static let titles = ["a", "b", "c"]

  private static func id(_ number: Int) -> String { "0193aaaa-0000-7000-8000-00000000020\(number)" }

  /// A device with a list and items of the server's.
  private static func downloaded() async throws -> Fixture {
    let fixture = try Fixture()
    try await fixture.signIn()
    let items = titles.enumerated().map { number, title in
      #"{"table":"items","id":"\#(id(number))","rev":1,"seq":\#(number + 3),"columns":{"list_id":"\#(IDs.list)","title":"\#(title)","done":false,"price":null,"after_id":null}}"#
    }
    try await fixture.answer(IDs.part(([IDs.listChange] + items).joined(separator: ",")))
    return fixture
  }

  private static func rename(_ db: Database, _ names: [(Int, String)]) throws {
    for (number, title) in names {
      try db.execute("UPDATE items SET title = ? WHERE id = ?", [.text(title), .text(id(number))])
    }
  }

  private static func move(_ db: Database, _ id: String, _ list: String) throws {
    try db.execute("UPDATE items SET list_id = ? WHERE id = ?", [.text(list), .text(id)])
  }

  private static func all(_ fixture: Fixture) async throws -> SQLiteValue? {
    try await fixture.value("SELECT group_concat(title, ' ') FROM (SELECT title FROM items ORDER BY id)")
  }

  @Test("a transaction swaps and rotates unique values, and is undone whole (I12)")
  func rotation() async throws {
    let fixture = try await Self.downloaded()
    try await fixture.store.write { try Self.rename($0, [(0, "b"), (1, "c"), (2, "a")]) }
    #expect(try await Self.all(fixture) == "b c a")
    #expect(try await fixture.outbox().first?.elements?.count == 3)
    let undone = try await fixture.store.undo()
    #expect(undone.left.isEmpty)
    #expect(try await Self.all(fixture) == "a b c")
  }

  @Test("a savepoint that is rolled back leaves unique values to the end of the transaction (I12)")
  func savepoint() async throws {
    let fixture = try await Self.downloaded()
    try await fixture.store.write { db in
      try db.execute("SAVEPOINT inside")
      try Self.rename(db, [(0, "b")])
      try db.execute("ROLLBACK TO inside")
      try Self.rename(db, [(0, "b"), (1, "a")])
    }
    #expect(try await Self.all(fixture) == "b a c")
    // A program that knows nothing of this library is refused at the row again.
    let other = try SQLiteConnection(path: fixture.path)
    #expect(throws: SQLiteError.self) { try other.execute("UPDATE items SET title = 'a' WHERE title = 'c'") }
  }

  @Test("a value is freed and taken in one transaction, in either order (I12)", arguments: [false, true])
  func freed(_ isTakenFirst: Bool) async throws {
    let fixture = try await Self.downloaded()
    try await fixture.store.write { db in
      let steps: [() throws -> Void] = [
        { try db.execute("DELETE FROM items WHERE id = ?", [.text(Self.id(0))]) },
        { try db.insert(Item(id: IDs.item, list_id: IDs.list, title: "a")) },
      ]
      for step in isTakenFirst ? steps.reversed() : steps { try step() }
    }
    #expect(try await fixture.value("SELECT count(*) FROM items WHERE title = 'a'") == 1)
  }

  @Test("a transaction that leaves one value twice is not written (I6)")
  func taken() async throws {
    let fixture = try await Self.downloaded()
    let error = await #expect(throws: StoreError.self) {
      try await fixture.store.write { try Self.rename($0, [(0, "z"), (1, "c")]) }
    }
    #expect(error?.code == .uniqueTaken)
    #expect(error?.description.contains(Self.id(2)) == true)
    #expect(try await Self.all(fixture) == "a b c")
    #expect(try await fixture.outbox().isEmpty)
    // And the next transaction is like every other.
    try await fixture.store.write { try Self.rename($0, [(0, "z")]) }
    #expect(try await Self.all(fixture) == "z b c")
  }

  @Test("a move to a list where the value is taken is not written, one that changes places is (I6)")
  func moved() async throws {
    let fixture = try await Self.downloaded()
    try await fixture.store.write { db in
      try db.insert(List(id: IDs.other, title: "Other"))
      try db.insert(Item(id: IDs.item, list_id: IDs.other, title: "a"))
    }
    await #expect(throws: StoreError.self) {
      try await fixture.store.write { try Self.move($0, Self.id(0), IDs.other) }
    }
    try await fixture.store.write { db in
      try Self.move(db, Self.id(0), IDs.other)
      try Self.move(db, IDs.item, IDs.list)
    }
    #expect(
      try await fixture.value("SELECT list_id FROM items WHERE id = '\(Self.id(0))'") == .text(IDs.other))
  }

  @Test("another program is told at the row that takes a value, with the same file in use (I12)")
  func foreign() async throws {
    let fixture = try await Self.downloaded()
    let other = try SQLiteConnection(path: fixture.path)
    #expect(throws: SQLiteError.self) {
      try other.execute("UPDATE items SET title = 'b' WHERE id = '\(Self.id(0))'")
    }
    try other.execute("UPDATE items SET title = 'z' WHERE id = '\(Self.id(0))'")
    try await fixture.store.write { try Self.rename($0, [(1, "a")]) }
    #expect(try await Self.all(fixture) == "z a c")
  }

  @Test("a refused swap is written again from quarantine (I3, I12)")
  func resent() async throws {
    let fixture = try await Self.downloaded()
    try await fixture.store.write { try Self.rename($0, [(0, "b"), (1, "a")]) }
    try await fixture.refuse(try await fixture.first(1))
    #expect(try await Self.all(fixture) == "a b c")
    let number = try #require(try await fixture.store.quarantined().first?.number)
    let error = await #expect(throws: StoreError.self) {
      try await fixture.store.resend(number) { $0[0]["title"] = "c" }
    }
    #expect(error?.code == .operationRefused)
    #expect(error?.description.contains("Operation 1") == true)
    try await fixture.store.resend(number)
    #expect(try await Self.all(fixture) == "b a c")
  }

  @Test("an undo that would leave one value twice leaves out what is forbidden")
  func undoForbidden() async throws {
    let fixture = try await Self.downloaded()
    try await fixture.store.write { try Self.rename($0, [(0, "x"), (1, "y")]) }
    try await fixture.store.write { try Self.rename($0, [(2, "a")]) }
    let number = try #require(try await fixture.store.undoable().last?.number)
    let result = try await fixture.store.undo(number)
    #expect(result.left.map(\.reason) == [.forbidden])
    #expect(try await Self.all(fixture) == "x b a")
  }
}
