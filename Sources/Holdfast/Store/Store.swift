public import Foundation
public import HoldfastCore
import HoldfastSQLite

/// The app's own database, which can be synced.
///
/// All of it may be called from any task. Writes run one after another on a queue of their own, reads beside them on
/// others; several stores, also of several processes, may share one file.
public final class Store: Sendable {
  /// The schema.
  public let schema: SyncSchema
  let writer: DatabaseQueue
  let readers: [DatabaseQueue]
  let changes = ChangeHub()
  let environment: StoreEnvironment
  /// What became of the seed.
  public let seeding: Seeding

  /// Opens the database of a schema, and creates or extends it as needed.
  ///
  /// - Parameters:
  ///   - path: the file; beside it SQLite keeps `-wal` and `-shm`.
  ///   - schema: the schema; a database of an earlier one gets the tables and columns that are new.
  ///   - seed: a snapshot that came with the app (`holdfast snapshot`), which becomes the database when there is none yet; one that is of no use
  ///     here is ignored. See `seeding`.
  ///   - environment: the clock and the randomness; the system's unless given.
  /// - Throws: `StoreError` when the file is another program's, newer, or can't follow the schema; `SQLiteError`.
  public init(path: String, schema: SyncSchema, seed: URL? = nil, environment: StoreEnvironment = .system)
    throws
  {
    self.schema = schema
    self.environment = environment
    seeding = try seed.map { try Seed(file: $0, path: path, schema: schema).plant() } ?? .none
    let replica = Position.Replica(random: environment.random()).string
    let changes = changes
    writer = try DatabaseQueue(label: "holdfast.writer") {
      let database = try DatabaseOpening(
        path: path, schema: schema, access: .readWriteCreate, replica: replica
      ).open()
      try environment.setClock(of: database.connection)
      database.connection.onChange { changes.announce($0) }
      return database
    }
    readers = try (0..<2).map { number in
      try DatabaseQueue(label: "holdfast.reader.\(number)") {
        try DatabaseOpening(path: path, schema: schema, access: .readOnly, replica: replica).open()
      }
    }
  }

  deinit { Self.close(readers[...], writer) {} }

  /// Closes the file. All that was written is in it then, and it can be copied or moved, unless another process has it open.
  ///
  /// What is asked of the store afterwards throws `StoreError.closed`. A store that nobody holds any more closes itself.
  public func close() async {
    await withCheckedContinuation { continuation in
      Self.close(readers[...], writer) { continuation.resume() }
    }
  }

  /// The one that writes at last: whoever closes last moves the log into the file, and a reader can't.
  private static func close(
    _ readers: ArraySlice<DatabaseQueue>, _ writer: DatabaseQueue, _ done: @escaping @Sendable () -> Void
  ) {
    guard let reader = readers.first else { return writer.close(done) }
    reader.close { close(readers.dropFirst(), writer, done) }
  }

  /// Reads from one consistent state of the database.
  ///
  /// - Parameter body: runs on a reading queue; it can't write.
  public func read<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
    let environment = environment
    let reader = readers[Int(environment.random() % UInt64(readers.count))]
    return try await reader.perform { local in
      try local.transaction(.deferred) {
        try body(Database(local: local, environment: environment))
      }
    }
  }

  /// Writes in one transaction, which becomes one change set: all of it reaches the server and the other devices, or nothing.
  ///
  /// When this returns, the edits are on disk.
  ///
  /// - Parameter body: runs on the writing queue; when it throws, nothing was written.
  /// - Throws: what `body` throws; `Problem` when a value does not fit the schema; `StoreError.changeSetTooLarge`.
  @discardableResult
  public func write<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
    let environment = environment
    return try await writer.perform { try AppTransaction(database: $0).write(environment, body) }
  }

  // MARK: Undoing

  /// The transactions of this device that can be undone, the newest first. The last 100 are kept, with 4 MiB at the most; one that
  /// changed more than 1 MiB is not.
  ///
  /// - Parameter limit: at most so many.
  public func undoable(limit: Int = 100) async throws -> [UndoableTransaction] {
    try await readers[0].perform { try UndoHistory(database: $0).undoable(limit: max(0, limit)) }
  }

  /// Takes a transaction of this device back, whether it was sent or not: writes, as a new one, what the records had before where nobody has
  /// changed them since. The new one can be undone in its turn. See docs/UNDO.md.
  ///
  /// - Parameter number: of the transaction; the last one that is neither an undo nor undone unless given.
  /// - Returns: what was undone, and what was left.
  /// - Throws: `StoreError.nothingToUndo` when there is none; `changeSetTooLarge`.
  @discardableResult
  public func undo(_ number: Int64? = nil) async throws -> UndoResult {
    try await writer.perform { try Undo(database: $0).run(number) }
  }

  // MARK: What waits

  /// How many operations wait to be confirmed by the server.
  public func waitingOperations() async throws -> Int {
    try await readers[0].perform { local in
      let loose = try local.count(
        "SELECT count(*) FROM (SELECT DISTINCT record_table, id FROM holdfast_edits WHERE change_set IS NULL)"
      )
      return try Outbox(database: local).waitingOperations() + loose
    }
  }

  /// The user and device that the database belongs to; nil before the first sign-in.
  public func account() async throws -> Account? {
    try await readers[0].perform { local in
      let state = try local.state()
      guard let user = state.user, let name = state.name, let device = state.device else { return nil }
      return Account(user: user, name: name, device: device, isSignedIn: state.token != nil)
    }
  }

  /// Begins or ends to follow a public zone; it arrives, or its records leave, with the next sync or at once.
  public func follow(_ publicZone: String, _ isFollowed: Bool = true) async throws {
    guard schema.publicZones.contains(publicZone) else {
      throw StoreError(.recordMissing, "The schema has no public zone \(publicZone).")
    }
    try await writer.perform { try Zones(database: $0).follow(publicZone, isFollowed) }
  }
}
