import HoldfastCore
import HoldfastSQLite

/// A device's database of which parts can't be read: what it still has, and the server does not. See docs/SNAPSHOTS.md, section 5.
struct DamagedFile {
  let path: String

  /// The change sets that wait, and those in quarantine, as far as they can be read, oldest first.
  func changeSets() throws -> [[UInt8]] {
    let connection: SQLiteConnection
    do {
      connection = try SQLiteConnection(path: path, access: .readOnly)
      _ = try connection.value("SELECT count(*) FROM sqlite_schema")
    } catch {
      throw StoreError(.databaseIsBroken, "Nothing can be read of \(path) (\(error.code)).")
    }
    return [("holdfast_quarantine", "n"), ("holdfast_outbox", "first")].flatMap { table, key in
      bodies(of: table, by: key, on: connection)
    }
  }

  /// From both ends up to what can't be read.
  private func bodies(of table: String, by key: String, on connection: SQLiteConnection) -> [[UInt8]] {
    var found: [Int64: [UInt8]] = [:]
    for order in ["ASC", "DESC"] {
      do {
        try connection.forEachRow("SELECT \(key), body FROM \(table) ORDER BY \(key) \(order)") { row in
          let body = row.blob(1)
          if !QuarantinedOperation.all(body).isEmpty { found[row.integer(0)] = body }
        }
        break
      } catch {
        // The other end may be whole.
      }
    }
    return found.sorted { $0.key < $1.key }.map(\.value)
  }
}
