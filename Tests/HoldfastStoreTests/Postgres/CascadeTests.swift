import HoldfastCore
import ServerScenes
import Synchronization
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// What goes along with a record is found and read set-wise: a cascade of many costs as many round trips as one of few (I11).
@Suite struct CascadeTests {
  private final class Statements: Sendable {
    let count = Mutex<Int>(0)
  }

  /// A list with items, of which each has a note that refers to it.
  private func scene(_ count: Int, _ statements: Statements) throws -> (TestDevice, list: String) {
    let server = try TestServer(
      location: { _ in
        var location = PostgresLocation(try TemporaryPostgres.shared.makeDatabase())
        location.onStatement = { _ in statements.count.withLock { $0 += 1 } }
        return .postgres(location)
      })
    let anna = try server.signUp("anna")
    let list = try anna.makeList()
    for start in stride(from: 0, to: count, by: 500) {
      try anna.sync(
        (start..<min(start + 500, count)).map { _ in
          .create("items", anna.newID(), ["list_id": .string(list), "title": "Milk"])
        })
    }
    return (anna, list)
  }

  private func deletion(of count: Int) throws -> Int {
    let statements = Statements()
    let (anna, list) = try scene(count, statements)
    statements.count.withLock { $0 = 0 }
    try anna.sync([.delete("lists", list)])
    let cost = statements.count.withLock { $0 }
    try anna.pull()
    #expect(anna.all("items").isEmpty)
    #expect(try anna.server.findings().isEmpty)
    return cost
  }

  private func move(of count: Int) throws -> Int {
    let statements = Statements()
    let (anna, list) = try scene(1, statements)
    let other = try anna.makeList()
    let item = anna.newID()
    try anna.sync([.create("items", item, ["list_id": .string(list), "title": "Bread"])])
    for start in stride(from: 0, to: count, by: 500) {
      try anna.sync(
        (start..<min(start + 500, count)).map { _ in
          .create("seals", anna.newID(), ["item_id": .string(item)])
        })
    }
    statements.count.withLock { $0 = 0 }
    try anna.sync([.update("items", item, ["list_id": .string(other)])])
    let cost = statements.count.withLock { $0 }
    #expect(try anna.server.findings().isEmpty)
    return cost
  }

  @Test("a deletion of a record with 800 children costs as few statements as one with 8 (I11)")
  func statements() throws {
    let few = try deletion(of: 8)
    let many = try deletion(of: 800)
    #expect(many < few + 25)
  }

  @Test("so does a move of a record with 800 children (I11)")
  func moves() throws {
    let few = try move(of: 8)
    let many = try move(of: 800)
    #expect(many < few + 20)
  }
}
