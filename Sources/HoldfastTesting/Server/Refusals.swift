import HoldfastService
import HoldfastSystem

/// What a test has the server refuse, beside the team's own rules.
final class Refusals: Sendable {
  struct Refusal: Sendable {
    let table: String
    let detail: String
    let matches: @Sendable (RuledRecord) -> Bool
  }

  private let all = Locked<[Refusal]>([])

  func add(_ refusal: Refusal) { all.withLock { $0.append(refusal) } }

  func removeAll() { all.withLock { $0 = [] } }

  /// The rules of a team, and these refusals.
  func added(to rules: Rules, of tables: [String]) -> Rules {
    var sum = rules
    for table in tables {
      let own = rules.validators[table]
      sum.validate(table) { [self] record in
        try own?(record)
        for refusal in all.withLock({ $0 }) where refusal.table == record.table && refusal.matches(record) {
          throw ValidationError(refusal.detail)
        }
      }
    }
    return sum
  }
}
