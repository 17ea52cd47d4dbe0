import HoldfastSQLite
import Synchronization
import Testing

@Suite("A connection with a clock of its own")
struct ClockTests {
  @Test("SQL asks the given clock for the time, also in statements and triggers that were prepared before")
  func now() throws {
    let connection = try SQLiteConnection(path: ":memory:")
    let milliseconds = "CAST((julianday('now') - 2440587.5) * 86400000 + 0.5 AS INTEGER)"
    try connection.execute(
      """
      CREATE TABLE t (x, at); CREATE TRIGGER mark AFTER INSERT ON t BEGIN
      UPDATE t SET at = \(milliseconds) WHERE rowid = new.rowid; END
      """)
    let (select, insert) = ("SELECT \(milliseconds)", "INSERT INTO t (x) VALUES (1)")
    let system = try #require(connection.value(select)?.integer)
    try connection.run(insert)
    let time = Mutex<Int64>(1_767_225_600_123)
    try connection.setClock { time.withLock { $0 } }
    #expect(system > 1_767_225_600_123)
    for now: Int64 in [1_767_225_600_123, 1, 1_767_225_600_124, 253_402_300_799_999] {
      time.withLock { $0 = now }
      #expect(try connection.value(select)?.integer == now)
      try connection.run(insert)
      #expect(try connection.value("SELECT at FROM t ORDER BY rowid DESC")?.integer == now)
    }
  }

  @Test("other moments mean what they do without a clock")
  func others() throws {
    let (one, other) = (try SQLiteConnection(path: ":memory:"), try SQLiteConnection(path: ":memory:"))
    try one.setClock { 1 }
    for text in [
      "'2026-01-01T12:00:00Z'", "2460000.5", "2460000", "NULL", "'nonsense'", "'2026-01-01', '+1 day'",
    ] {
      #expect(try one.value("SELECT julianday(\(text))") == other.value("SELECT julianday(\(text))"))
    }
  }

  @Test("connections that name one database in memory share it, until the last has closed")
  func memory() throws {
    let path = "memory:/shared by two"
    let one = try SQLiteConnection(path: path)
    try one.execute("CREATE TABLE t (x); INSERT INTO t VALUES (7)")
    let other = try SQLiteConnection(path: path, access: .readOnly)
    #expect(try other.value("SELECT x FROM t")?.integer == 7)
    #expect(try SQLiteConnection(path: path + "!").value("SELECT count(*) FROM sqlite_master")?.integer == 0)
    one.close()
    other.close()
    #expect(try SQLiteConnection(path: path).value("SELECT count(*) FROM sqlite_master")?.integer == 0)
  }
}
