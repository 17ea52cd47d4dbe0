import CSQLite
import Testing

@testable import HoldfastSimulation

/// Transactions that show afterwards whether they are whole: transaction n adds `n` to one table and three rows to another.
struct Workload {
  static let path = "/device/app.db"
  static let transactions = 6

  let disk: SimulatedDisk
  let fileSystem: String

  /// The newest transaction that was begun, and the newest that SQLite called committed.
  private(set) var begun = 0
  private(set) var reported = 0

  init(_ disk: SimulatedDisk, _ fileSystem: String) {
    self.disk = disk
    self.fileSystem = fileSystem
  }

  /// Runs from an empty disk, in a process of its own, until it is done, fails or is dead.
  mutating func run() throws {
    let process = disk.start(on: "device")
    disk.running = process
    let writer = try open()
    try writer.run("CREATE TABLE IF NOT EXISTS heads (id INTEGER PRIMARY KEY)")
    try writer.run("CREATE TABLE IF NOT EXISTS parts (id INTEGER PRIMARY KEY, head INTEGER, body TEXT)")
    let reader = try open()
    for number in 1...Self.transactions {
      begun = number
      try Self.write(number, writer)
      guard disk.isAlive(process) else { return }
      reported = number
      // A reader that holds its snapshot while the next transaction is written, so that the log can't always resync.
      if number % 3 == 0 { try reader.run("COMMIT") }
      if number % 3 == 1 {
        try reader.run("BEGIN")
        _ = try reader.text("SELECT count(*) FROM parts")
      }
    }
  }

  /// Writes what is missing, in the same process or a new one, with no more faults.
  mutating func finish() throws {
    disk.fault = nil
    let writer = try open()
    try writer.run("CREATE TABLE IF NOT EXISTS heads (id INTEGER PRIMARY KEY)")
    try writer.run("CREATE TABLE IF NOT EXISTS parts (id INTEGER PRIMARY KEY, head INTEGER, body TEXT)")
    let last = try writer.text("SELECT coalesce(max(id), 0) FROM heads").flatMap(Int.init) ?? 0
    for number in last..<Self.transactions { try Self.write(number + 1, writer) }
    begun = Self.transactions
    reported = Self.transactions
  }

  /// Opens what is left in a new process: it must be sound, and hold whole transactions, at least the reported ones.
  func check(_ note: String) throws {
    disk.fault = nil
    disk.running = disk.start(on: "device")
    let database = try TestDatabase(Self.path, on: fileSystem)
    #expect(try database.texts("PRAGMA integrity_check") == ["ok"], "\(note)")
    let tables = try database.texts("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    guard tables == ["heads", "parts"] else {
      #expect(reported == 0 && tables.count < 2, "\(note)")
      return
    }
    let heads = try database.texts("SELECT id FROM heads ORDER BY id")
    #expect(heads == (0..<heads.count).map { "\($0 + 1)" }, "\(note)")
    #expect(heads.count >= reported && heads.count <= begun, "\(note): \(reported) \(heads.count) \(begun)")
    let parts = try database.texts("SELECT head || ' ' || count(*) FROM parts GROUP BY head ORDER BY head")
    #expect(parts == heads.map { "\($0) 3" }, "\(note)")
  }

  private func open() throws -> TestDatabase {
    let database = try TestDatabase(Self.path, on: fileSystem)
    _ = try database.text("PRAGMA journal_mode = WAL")
    // A tiny cache writes to the log before the commit; the short log is copied back every few transactions.
    try database.run("PRAGMA synchronous = FULL; PRAGMA cache_size = 3; PRAGMA wal_autocheckpoint = 20")
    return database
  }

  private static func write(_ number: Int, _ database: TestDatabase) throws {
    defer { database.rollBack() }
    try database.run(
      """
      BEGIN IMMEDIATE;
      INSERT INTO heads (id) VALUES (\(number));
      INSERT INTO parts (head, body) VALUES (\(number), printf('%.*c', 3000, 'a'));
      INSERT INTO parts (head, body) VALUES (\(number), printf('%.*c', 9000, 'b')), (\(number), 'c');
      UPDATE parts SET body = body || \(number) WHERE id % 4 = \(number % 4);
      COMMIT
      """)
  }
}
