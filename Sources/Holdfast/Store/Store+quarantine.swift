import HoldfastSQLite

extension Store {
  /// The change sets that the server refused for good, oldest first. Everything else that was written here goes on without them.
  public func quarantined() async throws -> [QuarantinedChangeSet] {
    try await readers[0].perform { try QuarantinedChangeSet.all(in: $0) }
  }

  /// Writes a change set of the quarantine again on what is here now, and those behind it that are there because of it, in one transaction, and takes
  /// them out of quarantine. Each becomes a new change set.
  ///
  /// A create inserts the record, or gives its values to the one of its id that is here by now; an update writes its columns alone; a
  /// deletion of what is gone does nothing.
  ///
  /// - Parameters:
  ///   - number: of the change set.
  ///   - amend: changes its operations before; those of its dependents stay as they are.
  /// - Throws: what `amend` throws; `StoreError.recordMissing` when there is no such set; `operationRefused`, which names the operation and the reason,
  ///   when a rule of the schema forbids one here; `changeSetTooLarge` when a set was made larger than one may be. Then nothing changed.
  public func resend(
    _ number: Int64,
    amending amend: @escaping @Sendable (inout [QuarantinedOperation]) throws -> Void = { _ in }
  ) async throws {
    try await writer.perform { try AppTransaction(database: $0).resend(number, amend) }
  }

  /// Removes a change set, and those that are there because of it, from quarantine for good. What it had written here was rolled back when it was
  /// refused, so no record changes.
  ///
  /// - Throws: `StoreError.recordMissing` when there is no such set.
  public func discard(_ number: Int64) async throws {
    try await writer.perform { local in
      try local.transaction(.immediate) { try Quarantine(database: local).remove(number) }
    }
  }

  /// Checks that a change set is the one that was listed: a file that left and came again counts from 1.
  ///
  /// - Throws: `StoreError.recordMissing`.
  func check(_ set: QuarantinedChangeSet) async throws {
    let sets = try await writer.perform { local in
      try local.transaction(.deferred) { try QuarantinedChangeSet.all(in: local) }
    }
    guard
      sets.contains(where: {
        ($0.number, $0.at, $0.document, $0.operations) == (set.number, set.at, set.document, set.operations)
      })
    else {
      throw StoreError(.recordMissing, "The quarantine has no such change set any more. Nothing was written.")
    }
  }

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
      try local.transaction(.immediate) { try Quarantine(database: local).add(rescued: bodies) }
    }
  }

  // MARK: Questions

  /// Answers the questions of a column whose policy is `ask` by a rule of the app, as they come, until the task is cancelled. The device whose edit was not
  /// kept answers, so no two devices do. A person may still answer what the rule leaves open, by `Database.resolve`.
  ///
  /// ```swift
  /// try await store.answerQuestions(of: "notes", column: "text") { question, db in
  ///   guard let mine = question.loser.value?.stringValue, let theirs = question.winner.value?.stringValue else { return nil }
  ///   return .value(.text(theirs + "\n" + mine))
  /// }
  /// ```
  /// - Parameters:
  ///   - table: the table of the records.
  ///   - column: a column with the policy `ask`.
  ///   - answer: runs in a transaction that writes; nil, or an error, leaves the question open.
  /// - Throws: what the reading of the store throws.
  public func answerQuestions(
    of table: String, column: String,
    by answer: @escaping @Sendable (_ question: Conflict, _ database: Database) throws -> Conflict.Choice?
  ) async throws {
    let open = Conflict.where(\.recordTable == table && \.column == column && \.resolution == nil)
    for try await questions in live(open) {
      guard let device = try await account()?.device else { continue }
      for question in questions where question.isOpen && question.loser.device == device {
        // One that can't be answered now stays open, and holds up no other.
        _ = try? await write { database in
          guard let choice = try answer(question, database) else { return }
          try database.resolve(question, taking: choice)
        }
      }
    }
  }
}
