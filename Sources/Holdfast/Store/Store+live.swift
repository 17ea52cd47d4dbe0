public import HoldfastSQLite

extension Store {
  /// How often a live query looks whether another process wrote to the file.
  static let foreignWriteInterval = Duration.milliseconds(500)

  /// The result of a query, now and after every change, local or from the server.
  ///
  /// Changes that come faster than they are read are coalesced; equal results are not repeated. Ends when the task that reads it is
  /// cancelled; throws what the query throws.
  ///
  /// - Parameters:
  ///   - type: what a row is read as; see `Database.fetch`.
  ///   - sql: a query.
  ///   - arguments: as many as the query has `?`.
  public func live<T: Decodable & Sendable>(
    _ type: T.Type, _ sql: String, _ arguments: [SQLiteValue] = []
  ) -> AsyncThrowingStream<[T], any Error> {
    live(sql, arguments) { names, rows in
      try rows.map { try RowDecoder.decode(type, names: names, values: $0) }
    }
  }

  /// The concurrent edits, oldest first, now and after every change.
  ///
  /// - Parameter onlyOpen: only the questions that wait for a person's answer; see `Conflict.isOpen`.
  public func liveConflicts(onlyOpen: Bool = false) -> AsyncThrowingStream<[Conflict], any Error> {
    live(Conflict.self, Conflict.query(onlyOpen: onlyOpen))
  }

  /// The change sets in quarantine, oldest first, now and after every change.
  public func liveQuarantine() -> AsyncThrowingStream<[QuarantinedChangeSet], any Error> {
    live(QuarantinedChangeSet.query) { _, rows in QuarantinedChangeSet.all(rows) }
  }

  /// The same, with what `make` makes of the rows.
  func live<Result: Sendable>(
    _ sql: String, _ arguments: [SQLiteValue] = [],
    _ make: @escaping @Sendable (_ names: [String], _ rows: [[SQLiteValue]]) throws -> Result
  ) -> AsyncThrowingStream<Result, any Error> {
    AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let task = Task {
        do {
          try await watch(sql, arguments) { continuation.yield(try make($0, $1)) }
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  private func watch(
    _ sql: String, _ arguments: [SQLiteValue],
    _ tell: @Sendable (_ names: [String], _ rows: [[SQLiteValue]]) throws -> Void
  ) async throws {
    let tables = try await readers[0].perform { try $0.connection.tablesRead(by: sql) }
    let version = try await foreignVersion()
    // One pending signal is enough: the query reads whatever is there by then.
    let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let listener = changes.listen(tables: tables) { signal.yield() }
    let poller = Task { try await pollForeignWrites(since: version) { signal.yield() } }
    defer {
      changes.stop(listener)
      poller.cancel()
      signal.finish()
    }
    var last: [[SQLiteValue]]?
    signal.yield()
    for await _ in signals {
      let (names, rows) = try await read { try $0.rows(sql, arguments) }
      if rows == last { continue }
      last = rows
      try tell(names, rows)
    }
  }

  /// SQLite's counter of other connections' commits, which also counts other processes.
  func foreignVersion() async throws -> Int64 {
    try await readers[0].perform { try $0.connection.dataVersion }
  }

  /// Looks whether others have written since, until the task is cancelled.
  ///
  /// - Parameter version: the counter before anything was read that may have changed since.
  func pollForeignWrites(since version: Int64?, _ tell: @Sendable () async -> Void) async throws {
    var last = version
    while !Task.isCancelled {
      try await environment.sleep(Self.foreignWriteInterval)
      guard let now = try? await foreignVersion() else { continue }
      if now != last { await tell() }
      last = now
    }
  }
}
