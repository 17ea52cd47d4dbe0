import Foundation
import HoldfastCore
import HoldfastSQLite

extension SQLiteError {
  /// Whether SQLite has met something in the file that it can't have written.
  var isDamage: Bool { code.primary == .corrupt || code.primary == .notADatabase }
}

extension StoreError {
  static func damaged(_ error: SQLiteError) -> StoreError {
    StoreError(
      .databaseIsBroken,
      "The file is damaged (\(error.code)). Call repair(); if that fails, move the file away, open a new one, sign in, and call rescue(from:) with the old one."
    )
  }
}

/// What a damaged file still has, and the server does not: docs/SNAPSHOTS.md, section 5.
extension Store {
  /// Takes what can be read of a damaged file's unsent change sets, and of its quarantine, into the quarantine of this store. The other file is not
  /// changed.
  ///
  /// What the server has comes with the next sync. Some change sets may have reached it: look at them before you send them again.
  /// - Parameter path: the damaged file, with `-wal` beside it where there is one; no store has it open.
  /// - Returns: how many change sets came.
  /// - Throws: `StoreError.databaseIsBroken` when nothing at all can be read of it; `SQLiteError`.
  @discardableResult
  public func rescue(from path: String) async throws -> Int {
    let bodies = try DamagedFile(path: path).changeSets()
    return try await writer.perform { local in
      try local.transaction(.immediate) {
        var lacking = try local.lackingRecords()
        let problem = Problem(.changeSetUncertain).document
        for body in bodies {
          try local.quarantine(
            first: -1, body: body, operation: -1, problem: problem, RolledBack(), &lacking)
        }
        return bodies.count
      }
    }
  }
}

/// A device's database of which parts can't be read.
private struct DamagedFile {
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
