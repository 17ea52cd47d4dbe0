package import HoldfastSQLite
import HoldfastService
import HoldfastSystem

/// The SQLite file is inconsistent: it is damaged. Missing data must never be taken for a deletion (I2).
package struct DamagedDatabase: Error, CustomStringConvertible {
  package let description: String

  /// An index has a row that its table lacks.
  package static func missing(_ id: String, of table: String, in zone: String) -> DamagedDatabase {
    DamagedDatabase(
      description:
        "The database is damaged: the index of \(table) has \(id) of zone \(zone), and the table has not. \(remedy)"
    )
  }

  package static let remedy =
    "Stop the server, keep a copy of the directory, and restore a backup: docs/OPERATIONS.md, section 9."

  /// Whether an error means that the file is damaged.
  static func isReason(for error: any Error) -> Bool {
    if error is DamagedDatabase { return true }
    guard let code = (error as? SQLiteError)?.code.primary else { return false }
    return code == .corrupt || code == .notADatabase
  }

  /// Checks the pages of a file, and the order of its rows.
  ///
  /// - Parameter isWhole: whether to also compare each index with its table, which takes longer.
  /// - Throws: `ServerError.damaged`.
  package static func check(_ connection: SQLiteConnection, _ path: String, isWhole: Bool) throws {
    var found: String?
    do {
      found = try connection.value("PRAGMA \(isWhole ? "integrity_check" : "quick_check")(1)")?.text
    } catch {
      guard isReason(for: error) else { throw error }
      found = "\(error)"
    }
    if let found, found == "ok" { return }
    throw ServerError(.damaged, "\(path) is damaged: \(found ?? "it can't be checked"). \(remedy)")
  }
}

/// Records that a reader or writer found the file damaged. From then on nothing is written, until the check at another start passes (I2):
/// writing to a damaged file may destroy more of it.
final class DamageWatch: Sendable {
  private let found = Locked<(any Error)?>(nil)
  private let say: @Sendable (String) -> Void

  /// - Parameter say: called at the first damage.
  init(say: @escaping @Sendable (String) -> Void) { self.say = say }

  /// Examines the error of a read or write.
  func notice(_ error: any Error) {
    guard DamagedDatabase.isReason(for: error) else { return }
    let isFirst = found.withLock { found in
      defer { found = found ?? error }
      return found == nil
    }
    if isFirst { say("The database is damaged, and takes no writes from now on. \(error)") }
  }

  /// - Throws: the damage that was found.
  func requireNone() throws { if let error = found.withLock({ $0 }) { throw error } }
}
