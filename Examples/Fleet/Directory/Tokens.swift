import Synchronization

/// What people typed, each text once, kept beside the databases: what must have come of it in the end.
final class Tokens: Sendable {
  /// One edit that a device's file has taken.
  struct Edit: Sendable {
    let record: String
    /// What was typed; nil for a deletion.
    var token: String?
    /// The text that the person saw and replaced; nil for a new record.
    var seen: String?
  }

  /// What was done to one record.
  struct Record: Sendable {
    var isDeleted = false
    var typed: [String] = []
    /// The texts that were replaced by somebody who had seen them.
    var replaced: Set<String> = []
    /// How many of the edits were not the record's creation.
    var updates: Int64 { Int64(typed.count) - 1 }
  }

  /// What is known by now.
  struct State: Sendable {
    var items: [String: Record] = [:]
    var lists: [String: Record] = [:]
    var count = 0
    /// Transactions that failed, as a list was in two files just then, or in none any more.
    var failures = 0
  }

  private let kept = Mutex(State())

  var state: State { kept.withLock { $0 } }

  func note(_ edit: Edit, in table: any WritableKeyPath<State, [String: Record]> & Sendable) {
    kept.withLock { state in
      state.count += 1
      var record = state[keyPath: table][edit.record] ?? Record()
      if let token = edit.token { record.typed.append(token) } else { record.isDeleted = true }
      if let seen = edit.seen { record.replaced.insert(seen) }
      state[keyPath: table][edit.record] = record
    }
  }

  func noteFailure() { kept.withLock { $0.failures += 1 } }
}
