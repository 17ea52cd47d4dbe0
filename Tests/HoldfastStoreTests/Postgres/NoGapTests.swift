import HoldfastCore
import HoldfastPostgres
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// Readers that follow zones by seq, beside writers that go round the server (I4).
@Suite struct NoGapTests {
  @Test(
    "who writes to a zone waits for the transaction before, so a reader never passes a number that is still to come (I4)"
  )
  func slowTransaction() throws {
    let ledger = try TestLedger()
    let (slow, reader) = (try ledger.another(), try ledger.another())
    try ledger.writer.run("INSERT INTO lists (id, title) VALUES ('L1', 'one'), ('L2', 'two')")
    try slow.run("BEGIN; INSERT INTO items (id, list_id, title) VALUES ('slow', 'L1', 'a')")
    let fast = try Statement(ledger, "INSERT INTO items (id, list_id, title) VALUES ('fast', 'L1', 'b')")
    try fast.waitUntilBlocked(reader)
    // Another zone waits for nobody.
    try ledger.writer.run("INSERT INTO items (id, list_id, title) VALUES ('other', 'L2', 'c')")
    #expect(try reader.changes("L1", after: 1).isEmpty)
    #expect(try reader.changes("L2", after: 1).map(\.id) == ["other"])
    try slow.run("COMMIT")
    try fast.wait()
    #expect(try reader.changes("L1", after: 1).map(\.id) == ["slow", "fast"])
    #expect(try reader.changes("L1", after: 1).map(\.seq) == [2, 3])
  }

  @Test("what is rolled back, whole or to a savepoint, gives its numbers back (I4)") func rollBack() throws {
    let ledger = try TestLedger()
    let (slow, reader) = (try ledger.another(), try ledger.another())
    try ledger.writer.run("INSERT INTO lists (id, title) VALUES ('L1', 'one'), ('L2', 'two')")
    try slow.run(
      """
      BEGIN; INSERT INTO items (id, list_id, title) VALUES ('kept', 'L1', 'a'); SAVEPOINT one;
      INSERT INTO items (id, list_id, title) VALUES ('gone', 'L1', 'b'), ('gone2', 'L2', 'b'); ROLLBACK TO one
      """)
    let fast = try Statement(ledger, "INSERT INTO items (id, list_id, title) VALUES ('fast', 'L1', 'c')")
    try fast.waitUntilBlocked(reader)
    // The savepoint's rollback has freed the zone that only it had.
    try ledger.writer.run("INSERT INTO items (id, list_id, title) VALUES ('free', 'L2', 'c')")
    try slow.run("COMMIT")
    try fast.wait()
    #expect(try reader.changes("L1", after: 1).map(\.id) == ["kept", "fast"])
    #expect(try reader.changes("L2", after: 1).map(\.seq) == [2])
    try slow.run("BEGIN; INSERT INTO items (id, list_id, title) VALUES ('never', 'L1', 'd')")
    let next = try Statement(ledger, "INSERT INTO items (id, list_id, title) VALUES ('next', 'L1', 'e')")
    try next.waitUntilBlocked(reader)
    try slow.run("ROLLBACK")
    try next.wait()
    #expect(try reader.changes("L1", after: 3).map(\.id) == ["next"])
    #expect(try reader.changes("L1", after: 3).map(\.seq) == [4])
    #expect(try ledger.findings() == [])
  }

  @Test("a child of a record that moves meanwhile is written where its parent has gone (I4)") func race()
    throws
  {
    let ledger = try TestLedger()
    let (mover, reader) = (try ledger.another(), try ledger.another())
    try ledger.writer.run(
      """
      INSERT INTO lists (id, title) VALUES ('L1', 'one'), ('L2', 'two');
      INSERT INTO items (id, list_id, title) VALUES ('i1', 'L1', 'a'), ('i2', 'L1', 'b');
      INSERT INTO comments (id, item_id) VALUES ('c2', 'i2');
      """)
    try mover.run("BEGIN; UPDATE items SET list_id = 'L2'")
    let child = try Statement(ledger, "INSERT INTO comments (id, item_id) VALUES ('c1', 'i1')")
    try child.waitUntilBlocked(reader)
    let edit = try Statement(ledger, "UPDATE comments SET text = 'x' WHERE id = 'c2'")
    try edit.waitUntilBlocked(reader)
    try mover.run("COMMIT")
    try child.wait()
    try edit.wait()
    #expect(TextSet(try reader.changes("L2", after: 1).map(\.id)) == ["i1", "i2", "c1", "c2"])
    #expect(try reader.texts("SELECT DISTINCT zone FROM comments") == ["L2"])
    #expect(try ledger.findings() == [])
  }

  @Test(
    "many writers and readers at once: each reader sees each committed record exactly once, in order (I4)",
    .timeLimit(.minutes(5)))
  func storm() throws {
    let ledger = try TestLedger()
    let zones = (0..<4).map { "L\($0)" }
    try ledger.writer.run("INSERT INTO lists (id, title) SELECT 'L' || n, 'x' FROM generate_series(0, 3) n")
    let url = ledger.url
    let writers = (0..<4).map { number in
      Background { try Storm(url: url, number: number).write(count: 60) }
    }
    let readers = zones.map { zone in Background { try Storm.follow(zone, url: url, until: 4) } }
    var committed: TextSet = []
    for writer in writers { committed.formUnion(try writer.wait()) }
    try ledger.writer.run("UPDATE lists SET title = 'the end'")
    for (zone, reader) in zip(zones, readers) {
      let seen = try reader.wait()
      #expect(seen.count == TextSet(seen).count)
      #expect(TextSet(seen) == committed.filter { $0.hasPrefix(zone) })
    }
    #expect(try ledger.findings() == [])
  }
}

/// A statement on a connection and a thread of its own, which may have to wait.
private struct Statement {
  private let process: Int32
  private let background: Background<Void>

  init(_ ledger: TestLedger, _ sql: String) throws {
    let connection = try PostgresConnection(ledger.url)
    process = connection.serverProcess
    let lent = Lent(value: connection)
    background = Background { try lent.value.execute(sql) }
  }

  /// Returns when the statement waits for somebody's lock.
  func waitUntilBlocked(_ observer: SQLWriter) throws {
    try blockUntil { try observer.texts("SELECT cardinality(pg_blocking_pids(\(process)))::text") != ["0"] }
  }

  func wait() throws { try background.wait() }
}

/// One of the writers of the storm.
private struct Storm {
  let writer: SQLWriter
  let number: Int
  private var seed: UInt64

  init(url: String, number: Int) throws {
    writer = try SQLWriter(url: url)
    self.number = number
    seed = UInt64(number + 1)
  }

  private mutating func random(_ limit: Int) -> Int {
    seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int(seed >> 33) % limit
  }

  /// Runs transactions that span zones, are rolled back, or roll a savepoint back.
  ///
  /// - Returns: the ids of the records that were committed.
  func write(count: Int) throws -> TextSet {
    var storm = self
    var committed: TextSet = []
    for turn in 0..<count {
      var kept: [String] = []
      // Zones in one order: otherwise SQL writers may lock each other out, as ever.
      let zones = (0..<4).filter { _ in storm.random(2) == 0 }
      do {
        try writer.run("BEGIN")
        for zone in zones {
          let id = "L\(zone)-\(number)-\(turn)"
          let isUndone = storm.random(4) == 0
          if isUndone { try writer.run("SAVEPOINT one") }
          try writer.run("INSERT INTO items (id, list_id, title) VALUES ('\(id)', 'L\(zone)', '\(id)')")
          if isUndone { try writer.run("ROLLBACK TO one") } else { kept.append(id) }
        }
        let isKept = storm.random(4) > 0
        try writer.run(isKept ? "COMMIT" : "ROLLBACK")
        if isKept { committed.formUnion(kept) }
      } catch let error as PostgresError where error.isTransient { try writer.run("ROLLBACK") }
    }
    return committed
  }

  /// Follows a zone until its list has been changed again.
  ///
  /// - Returns: the ids of the items in the order in which they were seen.
  static func follow(_ zone: String, url: String, until writers: Int) throws -> [String] {
    let reader = try SQLWriter(url: url)
    var (last, seen): (Int64, [String]) = (1, [])
    while true {
      for change in try reader.changes(zone, after: last) {
        if change.seq <= last { throw StormError() }
        last = change.seq
        if change.id == zone { return seen }
        seen.append(change.id)
      }
    }
  }

  private struct StormError: Error {}
}
