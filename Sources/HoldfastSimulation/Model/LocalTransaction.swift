/// One committed transaction of the app on a device, which becomes one change set.
struct LocalTransaction {
  /// What became of it, as far as its device shows.
  enum State {
    /// In the outbox.
    case open
    /// It left the outbox because the server has dealt with it.
    case confirmed
    case quarantined
    /// The person gave it up.
    case forgotten
  }

  let device: String
  let user: String
  /// The tokens that it was the first to write.
  var tokens: Set<Int> = []
  /// Those that it wrote again.
  var rewritten: Set<Int> = []
  var operations: Set<OperationName> = []
  /// Of one that deletes: all tokens that its device knew, those under its own edits too.
  var known: Set<Int> = []
  var state = State.open

  /// Whether these bytes are this transaction's. New tokens are written once; without any the operations must be the same.
  func matches(_ set: SentChangeSet) -> Bool {
    tokens.isEmpty
      ? operations == set.operations && set.tokens.isSubset(of: rewritten)
      : !tokens.isDisjoint(with: set.tokens)
  }
}

/// What was done to which record.
struct OperationName: Hashable {
  let kind: String
  let key: RecordKey
}

/// One column of one record, changed by a local transaction. Nil is the value of a record that is not there.
struct LocalChange {
  let transaction: Int
  let device: String
  let column: String
  let old: Cell?
  let new: Cell?

  /// Whether the change takes this token away, as somebody does who saw it.
  func replaces(_ token: Int) -> Bool {
    guard let old, old.tokens.contains(token) else { return false }
    return new?.tokens.contains(token) != true
  }
}
