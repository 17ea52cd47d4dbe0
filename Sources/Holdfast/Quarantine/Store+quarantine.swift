import HoldfastSQLite

extension Store {
  /// The change sets that the server refused for good, oldest first. Everything else that was written here goes on without them.
  public func quarantined() async throws -> [QuarantinedChangeSet] {
    try await readers[0].perform {
      QuarantinedChangeSet.all(try $0.connection.rows(QuarantinedChangeSet.query))
    }
  }

  /// The change sets in quarantine, oldest first, now and after every change.
  public func liveQuarantine() -> AsyncThrowingStream<[QuarantinedChangeSet], any Error> {
    live(QuarantinedChangeSet.query) { _, rows in QuarantinedChangeSet.all(rows) }
  }

  /// Writes a change set of the quarantine again on what is here now, those behind it that are there because of it, in one transaction, as one new
  /// change set, and takes them out of quarantine.
  ///
  /// A create inserts the record, or gives its values to the one of its id that is here by now; an update writes its columns alone; a
  /// deletion of what is gone does nothing.
  ///
  /// - Parameters:
  ///   - number: of the change set.
  ///   - amend: changes its operations before; those of its dependents stay as they are.
  /// - Throws: what `amend` throws; `StoreError.recordMissing` when there is no such set; `operationRefused`, which names the operation and the reason,
  ///   when a rule of the schema forbids one here. Then nothing changed.
  public func resend(
    _ number: Int64,
    amending amend: @escaping @Sendable (inout [QuarantinedOperation]) throws -> Void = { _ in }
  ) async throws {
    let environment = environment
    try await writer.perform { local in
      try local.write(environment) { _ in try local.resend(number, amend) }
    }
  }

  /// Removes a change set, and those that are there because of it, from quarantine for good. What it had written here was rolled back when it was
  /// refused, so no record changes.
  ///
  /// - Throws: `StoreError.recordMissing` when there is no such set.
  public func discard(_ number: Int64) async throws {
    try await writer.perform { local in
      try local.transaction(.immediate) { try local.removeQuarantined(number) }
    }
  }
}
