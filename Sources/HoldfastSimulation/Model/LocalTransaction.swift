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
    case purged
  }

  let device: String
  let user: String
  /// The tokens that it was the first to write.
  var tokens: Set<Int> = []
  /// The values that it wrote and that tell it from others: integers, and texts with tokens.
  var values: [ColumnPlace: Cell] = [:]
  /// The columns of its updates, with what tells the values that they replaced from others.
  var bases: [ColumnPlace: Cell] = [:]
  var operations: Set<OperationName> = []
  /// Of one that deletes: all tokens that its device knew, those under its own edits too.
  var known: Set<Int> = []
  var state = State.open

  /// Whether these bytes may be this transaction's.
  func matches(_ set: SentChangeSet) -> Bool {
    operations.contains(where: set.mayDo) && tokens.isSubset(of: set.tokens)
      && set.values.allSatisfy { place, value in
        // A record that was deleted and made again is sent with all its columns.
        values[place].map { $0 == value }
          ?? set.operations.contains(OperationName(kind: "delete", key: place.key))
      }
  }
}

/// A column of a record.
struct ColumnPlace: Hashable {
  let key: RecordKey
  let column: String
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
