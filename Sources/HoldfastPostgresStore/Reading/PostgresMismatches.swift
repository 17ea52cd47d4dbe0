import HoldfastCore
import HoldfastService
import Synchronization

/// Records that the ledger has and their table lacks, as readers find them: each is told once to whoever operates the server.
final class PostgresMismatches: Sendable {
  private struct Noted {
    var records: Set<[TextKey]> = []
    var log: (@Sendable (String) -> Void)?
  }

  /// How many are told of at the most: the doctor tells all.
  private static let limit = 100

  private let noted = Mutex(Noted())

  /// Sets where they are told.
  func tell(_ log: @escaping @Sendable (String) -> Void) { noted.withLock { $0.log = log } }

  /// Notes a record.
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
