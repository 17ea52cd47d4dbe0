import HoldfastCore
import HoldfastService
import HoldfastSystem

/// Records that readers found in the ledger but not in their table. Each is logged once for the operator.
final class PostgresMismatches: Sendable {
  private struct Noted {
    var records: Set<[TextKey]> = []
    var log: (@Sendable (String) -> Void)?
  }

  /// The maximum number of logged records. The doctor lists all.
  private static let limit = 100

  private let noted = Locked(Noted())

  /// Sets the log.
  func tell(_ log: @escaping @Sendable (String) -> Void) { noted.withLock { $0.log = log } }

  /// Logs a record, unless it was logged before.
  func note(_ table: String, _ id: String, in zone: String) {
    let log = noted.withLock { noted in
      noted.records.count < Self.limit
        && noted.records.insert([table, id, zone].map { TextKey($0) }).inserted ? noted.log : nil
    }
    log?(
      """
      The record \(id) of \(table) in the zone \(zone) is in the ledger and not in its table: it was changed behind the triggers. It is not sent. \
      `holdfast doctor --repair` mends it.
      """)
  }
}
