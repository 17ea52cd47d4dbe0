import Foundation
import HoldfastSystem
import Observation
import Testing

@testable import Holdfast

@Suite("Live queries")
struct LiveQueryTests {
  /// Waits for the next value for which a condition holds.
  private static func next<Value>(
    _ iterator: inout AsyncThrowingStream<Value, any Error>.Iterator, where isWanted: (Value) -> Bool
  ) async throws -> Value {
    while let value = try await iterator.next() { if isWanted(value) { return value } }
    throw CancellationError()
  }

  /// Nothing comes by a timer.
  private static let withoutTimers = StoreEnvironment(
    now: StoreEnvironment.system.now, random: StoreEnvironment.system.random,
    sleep: { _ in
      let (never, _) = AsyncStream.makeStream(of: Void.self)
      for await _ in never {}
      throw CancellationError()
    })

  @MainActor
  @Test("a view has the first result at once, and hears of each later one")
  func observed() async throws {
    let store = try Store.inMemory(schema: try #require(Fixture.schema)) { db in
      try db.insert(List(id: IDs.list, title: "Home"))
    }
    let lists = store.liveQuery(List.order(by: \.title))
    let count = store.liveQuery(0) { try $0.count(List.all) }
    let titles = store.liveQuery(String.self, "SELECT title FROM lists WHERE title <> \("")")
    #expect(lists.value.map(\.title) == ["Home"])
    #expect(count.value == 1)
    #expect(titles.value == ["Home"])
    for query in [lists as LiveObject, count, titles] {
      let (changes, change) = AsyncStream.makeStream(of: Void.self)
      withObservationTracking {
        _ = (lists.value, count.value, titles.value)
      } onChange: {
        change.yield()
      }
      try await store.write { try $0.insert(List(id: $0.newID(), title: "Work")) }
      for await _ in changes { break }
      withExtendedLifetime(query) {}
    }
    while count.value < 4 || lists.value.count < 4 || titles.value.count < 4 { await Task.yield() }
    #expect(lists.error == nil)
  }

  @MainActor
  @Test("a query that is wrong says why, and has its fallback")
  func wrong() throws {
    let store = try Store.inMemory(schema: try #require(Fixture.schema))
    let query = store.liveQuery(String.self, "SELECT nothing FROM lists")
    #expect(query.value.isEmpty)
    #expect(query.error is SQLiteError)
  }

  @Test("a function is read again when a table that it read has changed, and not for others")
  func function() async throws {
    let fixture = try Fixture()
    let reads = Counter()
    var counts = fixture.store.live { db in
      reads.increment()
      return try db.count(List.all)
    }.makeAsyncIterator()
    #expect(try await counts.next() == 0)
    let before = reads.value
    try await fixture.store.write { try $0.execute("INSERT INTO words (text) VALUES ('a')") }
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    #expect(try await counts.next() == 1)
    #expect(reads.value == before + 1)
  }

  @Test("a commit of another connection is noticed without a timer (I7)")
  func foreign() async throws {
    let fixture = try Fixture()
    let store = try Store(
      path: fixture.path, schema: try #require(Fixture.schema), environment: Self.withoutTimers)
    var titles = store.live(String.self, "SELECT title FROM lists ORDER BY title").makeAsyncIterator()
    #expect(try await titles.next() == [])
    for number in 1...20 {
      let connection = try SQLiteConnection(path: fixture.path, access: .readWrite)
      try connection.run("INSERT INTO lists (title) VALUES (?)", [.text("t\(number)")])
      connection.close()
      _ = try await Self.next(&titles) { $0.count == number }
    }
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "t0")) }
    _ = try await Self.next(&titles) { $0.count == 21 }
  }

  @Test("a selection that is spared a reading is always what a fresh reading gives (I7)")
  func spared() async throws {
    let schema = try #require(Fixture.schema)
    let store = try Store.inMemory(schema: schema) { db in
      try db.insert(List(id: IDs.list, title: "Home"))
    }
    var random = SplitMix(seed: 7)
    let selections = [
      Item.where(\.done == false).order(by: \.title), Item.where(\.price > 5).order(by: \.title).limit(3),
      Item.order(by: \.title, descending: true).limit(4, offset: 2), Item.where(\.title == "t3"),
      Item.where(.in(\.title, ["t4", "t5"])), Item.where(!.sql("done") || \.title == "t6"),
      Item.where(.sql("list_id IN (SELECT id FROM lists WHERE title = 'Home')")),
      Item.where(\.done == true && .sql("EXISTS (SELECT 1 FROM items WHERE title = 't2' AND done)")),
    ]
    let environment = store.environment
    let steps = (0..<400).map { _ in (random.next(30), random.next(7), random.next(10)) }
    let (differences, spared) = try await store.writer.perform { local in
      var differences = 0
      var spared = selections.map { _ in 0 }
      let database = Database(local: local, environment: environment)
      let reads = selections.map { LiveSource.selection($0).makeRead() }
      var known = try reads.map { try $0(database, nil).value ?? [] }
      var changes: SQLiteChanges?
      local.connection.onCommit { changes = $0 }
      for (number, action, value) in steps {
        let id = "0193aaaa-0000-7000-8000-0000000001" + (number < 10 ? "0" : "") + "\(number)"
        try AppTransaction(database: local).write(environment) { db in
          switch action {
          case 0: try db.delete(Item.self, id: id)
          case 1: try db.upsert(Item(id: id, list_id: IDs.list, title: "t\(number)", price: Double(value)))
          case 2: try db.execute("UPDATE items SET done = \(value % 2) WHERE id = \(id)")
          case 3: try db.execute("UPDATE items SET price = \(value) WHERE id = \(id)")
          case 4:
            try db.execute(
              "INSERT OR REPLACE INTO items (id, list_id, title, done) VALUES (\(id), \(IDs.list), \("t\(number)"), \(value % 2))"
            )
          case 5:
            try db.execute("UPDATE lists SET title = \(value < 5 ? "Home" : "Work")")
            try db.execute("UPDATE items SET price = \(value) WHERE id = \(id)")
          default: try db.upsert(Item(id: id, list_id: IDs.list, title: "t\(number)", done: value < 5))
          }
        }
        for index in selections.indices {
          let result = try reads[index](database, changes)
          if case .spared = result { spared[index] += 1 }
          if let new = result.value { known[index] = new }
          if known[index] != (try database.fetch(selections[index])) { differences += 1 }
        }
        changes = nil
      }
      return (differences, spared)
    }
    #expect(differences == 0)
    // Neither one with an offset, nor one whose condition reads other rows.
    #expect(spared.map { $0 > 0 } == [true, true, false, true, true, true, false, false])
  }

  @Test("a full-text table of the app is found in by a live query, and follows the records")
  func fullText() async throws {
    let fixture = try Fixture()
    try await fixture.store.write { db in
      try db.execute("CREATE VIRTUAL TABLE found USING fts5 (title, content='lists', content_rowid='rowid')")
      try db.execute(
        "CREATE TRIGGER found_new AFTER INSERT ON lists BEGIN INSERT INTO found (rowid, title) VALUES (NEW.rowid, NEW.title); END"
      )
    }
    var hits = fixture.store.live(
      String.self, "SELECT title FROM found WHERE found MATCH \("milk") ORDER BY rank"
    ).makeAsyncIterator()
    #expect(try await hits.next() == [])
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Milk and bread")) }
    #expect(try await hits.next() == ["Milk and bread"])
    // What the server sends too.
    try await fixture.signIn()
    try await fixture.answer(
      #""zones":[{"zone":"\#(IDs.other)","role":"owner","from":"","to":"0000000a.2","more":false,"remaining":0,"changes":[{"table":"lists","id":"\#(IDs.other)","rev":1,"seq":1,"columns":{"title":"Milk"}}]}]"#
    )
    _ = try await Self.next(&hits) { $0.count == 2 }
  }
}

/// Counts, from any thread.
final class Counter: Sendable {
  private let number = Locked(0)
  var value: Int { number.withLock { $0 } }
  func increment() { number.withLock { $0 += 1 } }
}

/// SplitMix64. Source: Steele, Lea and Flood, 2014.
struct SplitMix {
  private var state: UInt64
  init(seed: UInt64) { state = seed }

  mutating func next(_ bound: UInt64) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((value ^ (value >> 31)) % bound)
  }
}
