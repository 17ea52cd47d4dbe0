import HoldfastCore
public import HoldfastSQLite

// Live queries: now, and after each change. A change is a commit of this process or of another one on the same file. A query runs again only after a
// change of a table that it reads, and what it gives is compared with what it gave before. Changes that come faster than they are read are coalesced.
// A query ends when the task that reads it is cancelled; it throws what the query throws.
extension ReadableStore {
  /// The result of a query, now and after every change.
  ///
  /// ```swift
  /// for try await items in store.live(Item.self, "SELECT * FROM items WHERE list_id = \(list) ORDER BY position") {
  ///   show(items)
  /// }
  /// ```
  /// - Parameters:
  ///   - type: what a row is read as; see `Database.fetch`.
  ///   - sql: a query; what a literal interpolates is bound.
  public func live<T: Decodable & Sendable>(_ type: T.Type, _ sql: SQL) -> AsyncThrowingStream<[T], any Error>
  {
    live(.rows(sql, Self.decoded(type)))
  }

  /// The same, for a text that is sent to SQLite as it is. Never put values into it: use the arguments.
  @_disfavoredOverload
  public func live<T: Decodable & Sendable>(
    _ type: T.Type, _ sql: String, _ arguments: [SQLiteValue] = []
  ) -> AsyncThrowingStream<[T], any Error> {
    live(type, SQL(unsafe: sql, arguments))
  }

  /// The records of a selection, now and after every change of one of them.
  ///
  /// ```swift
  /// for try await open in store.live(Item.where(\.done == false)) { show(open) }
  /// ```
  public func live<R: Record>(_ selection: RecordSelection<R>) -> AsyncThrowingStream<[R], any Error> {
    live(.selection(selection))
  }

  /// What a function reads, now and after every change of a table that it read from.
  ///
  /// ```swift
  /// for try await count in store.live({ try $0.count(Item.where(\.done == false)) }) { badge = count }
  /// ```
  /// - Parameter read: runs on a reading queue, in one transaction; it can't write.
  public func live<Value: Equatable & Sendable>(
    _ read: @escaping @Sendable (Database) throws -> Value
  ) -> AsyncThrowingStream<Value, any Error> {
    live(.value(read))
  }

  /// The concurrent edits, oldest first, now and after every change.
  ///
  /// - Parameter onlyOpen: only the questions that wait for a person's answer; see `Conflict.isOpen`.
  public func liveConflicts(onlyOpen: Bool = false) -> AsyncThrowingStream<[Conflict], any Error> {
    live(Conflict.self, SQL(unsafe: Conflict.query(onlyOpen: onlyOpen)))
  }

  /// The change sets in quarantine, oldest first, now and after every change.
  public func liveQuarantine() -> AsyncThrowingStream<[QuarantinedChangeSet], any Error> {
    live(.value { try QuarantinedChangeSet.all(in: $0) })
  }

  private func live<Value: Sendable>(_ source: LiveSource<Value>) -> AsyncThrowingStream<Value, any Error> {
    AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let reading = LiveReading(source, of: self) { result in
        switch result {
        case .success(let value): continuation.yield(value)
        case .failure(let error): continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in reading.stop() }
      reading.start()
    }
  }

  private static func decoded<T: Decodable & Sendable>(
    _ type: T.Type
  ) -> @Sendable (_ names: [String], _ rows: [[SQLiteValue]]) throws -> [T] {
    { names, rows in try rows.map { try RowDecoder.decode(type, names: names, values: $0) } }
  }

  // MARK: For views

  /// The result of a query for a view; see `LiveQuery`.
  ///
  /// ```swift
  /// let items = store.liveQuery(Item.self, "SELECT * FROM items WHERE list_id = \(list)")
  /// ```
  @MainActor
  public func liveQuery<T: Decodable & Sendable>(_ type: T.Type, _ sql: SQL) -> LiveQuery<[T]> {
    LiveQuery(.rows(sql, Self.decoded(type)), of: self, fallback: [])
  }

  /// The records of a selection for a view; see `LiveQuery`.
  @MainActor
  public func liveQuery<R: Record>(_ selection: RecordSelection<R>) -> LiveQuery<[R]> {
    LiveQuery(.selection(selection), of: self, fallback: [])
  }

  /// What a function reads, for a view; see `LiveQuery`.
  ///
  /// ```swift
  /// let open = store.liveQuery(0) { try $0.count(Item.where(\.done == false)) }
  /// ```
  /// - Parameters:
  ///   - fallback: the value when nothing could be read yet.
  ///   - read: reads the value, on a reading queue; it can't write.
  @MainActor
  public func liveQuery<Value: Equatable & Sendable>(
    _ fallback: Value, _ read: @escaping @Sendable (Database) throws -> Value
  ) -> LiveQuery<Value> {
    LiveQuery(.value(read), of: self, fallback: fallback)
  }
}

// Writes of others.
extension Store {
  /// Begins to look for commits of other connections to the file, once.
  func watchForeignWrites() {
    foreignWrites.start { [weak self] in self?.lookForForeignWrites() }
  }

  /// SQLite counts commits of other connections than the one that asks; the readers never commit.
  private func lookForForeignWrites() {
    guard foreignWrites.awaitLook() else { return }
    writer.enqueue { [weak self] access in
      guard let self else { return }
      foreignWrites.beginLook()
      guard let version = try? access.run({ try $0.connection.dataVersion }) else { return }
      if foreignWrites.isNew(version) { changes.announce(nil) }
    }
  }
}
