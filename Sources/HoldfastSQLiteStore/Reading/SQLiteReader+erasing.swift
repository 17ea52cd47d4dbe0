import HoldfastCore
import HoldfastSQLite
import HoldfastService

extension SQLiteReader {
  package func erasedUser(after id: String) throws -> String? {
    try connection.value(
      "SELECT id FROM holdfast_accounts WHERE erasure = 1 AND id > ? ORDER BY id LIMIT 1", [.text(id)])?.text
  }

  package func erasedZones() throws -> TextMap<Int64> {
    var zones: TextMap<Int64> = [:]
    try connection.forEachRow("SELECT zone, erased FROM holdfast_zones WHERE erased > 0") { row in
      zones[row.text(0)] = row.integer(1)
    }
    return zones
  }

  func emptyLog() throws -> Bool {
    // While it waits for readers nobody writes.
    try connection.execute("PRAGMA busy_timeout = 250")
    defer { try? connection.execute("PRAGMA busy_timeout = 5000") }
    return try connection.row("PRAGMA wal_checkpoint(TRUNCATE)", [])?[0].integer == 0
  }
}
