extension Store {
  /// Resyncs a zone: with the next sync the server's copy replaces the one here, at once and under every unsent edit. Until then the
  /// copy here stays as it is.
  ///
  /// - Parameter zone: the id of its root record, the user's id, or the name of a public zone; one that is not here is left alone.
  public func reset(_ zone: String) async throws {
    try await writer.perform { try DatabaseCheck(database: $0).reset(zone) }
  }

  /// Resyncs all zones; see `reset(_:)`.
  public func resetAll() async throws {
    try await writer.perform { try DatabaseCheck(database: $0).reset(nil) }
  }

  /// Reads the whole database, and says what is wrong with it; see docs/SNAPSHOTS.md, section 5. Takes a second for some hundred megabytes.
  public func check() async throws -> StoreFindings {
    try await readers[0].perform { try DatabaseCheck(database: $0).check() }
  }

  /// Checks, and where something is wrong mends the indexes and begins the zones concerned again, under every unsent edit.
  ///
  /// - Returns: what was wrong.
  /// - Throws: `StoreError.databaseIsBroken` when the file is damaged beyond that; see `rescue(from:)`.
  @discardableResult
  public func repair() async throws -> StoreFindings {
    try await writer.perform { try DatabaseCheck(database: $0).repair() }
  }

  /// The zones that a restored server can't give to this user yet: docs/RESTORING.md, section 7.
  public func zonesAwaitingRecovery() async throws -> [ZoneAwaitingRecovery] {
    try await readers[0].perform { try AwaitingRecovery(database: $0).awaitingZones() }
  }

  /// The zones that the server wants resynced, and that wait, as they were resynced a moment ago. They can be read and written as ever.
  public func waitingZones() async throws -> [WaitingZone] {
    try await readers[0].perform { try ResetPacing(database: $0).waitingZones() }
  }
}
