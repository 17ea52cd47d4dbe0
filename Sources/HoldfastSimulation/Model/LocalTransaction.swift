/// A committed transaction of the app on a device, which becomes one change set.
struct LocalTransaction {
  /// Its state, as far as its device shows it.
  enum State {
    /// In the outbox.
    case open
    /// It left the outbox because the server has processed it.
    case confirmed
    case quarantined
    /// The person discarded it.
    case purged
  }

  let device: String
  let user: String
  /// The tokens that it wrote first.
  var tokens: Set<Int> = []
  /// The identifying values that it wrote: integers, and texts with tokens.
  var values: [ColumnPlace: Cell] = [:]
  /// The columns of its updates, with the identifying parts of the replaced values.
  var bases: [ColumnPlace: Cell] = [:]
  var operations: Set<OperationName> = []
  /// For a transaction with a delete: all tokens known to its device, including those hidden by local edits.
  var known: Set<Int> = []
  var state = State.open

  /// Whether a change set may be this transaction's.
  func matches(_ set: SentChangeSet) -> Bool {
    operations.contains(where: set.mayDo) && tokens.isSubset(of: set.tokens)
      && set.values.allSatisfy { place, value in values[place] == value }
  }
}

/// A column of a record.
struct ColumnPlace: Hashable {
  let key: RecordKey
  let column: String
}

/// An operation's kind and record.
struct OperationName: Hashable {
  let kind: String
  let key: RecordKey
}

/// A change of one column of one record by a local transaction. Nil is the value of a missing record.
struct LocalChange {
  let transaction: Int
  let device: String
  let column: String
  let old: Cell?
  let new: Cell?

  /// Whether the change removes this token, having seen it.
  func replaces(_ token: Int) -> Bool {
    guard let old, old.tokens.contains(token) else { return false }
    return new?.tokens.contains(token) != true
  }
}
