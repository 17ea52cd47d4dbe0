import Dispatch
public import Foundation
public import HoldfastCore
import HoldfastSQLite
import HoldfastSystem

/// The app's own database, which can be synced.
///
/// All of it may be called from any task. Writes run one after another on a queue of their own, reads beside them on
/// others; several stores, also of several processes, may share one file.
///
/// ```swift
/// let schema = try SyncSchema(json: bytes)  // of holdfast.json
/// let store = try Store(path: "shopping.db", schema: schema)
/// try await store.write { try $0.insert(GroceryList(id: $0.newID(), title: "Groceries")) }
/// let titles = try await store.read { try $0.fetch(String.self, "SELECT title FROM lists") }
/// ```
public final class Store: Sendable {
  /// The schema.
  public let schema: SyncSchema
  let writer: DatabaseQueue
  let readers: [DatabaseQueue]
  let changes = ChangeHub()
  let environment: StoreEnvironment
  let foreignWrites: ForeignWrites
  private let turns = Turns()
  let suspension = Suspension()
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
  ///   - options: the memory that is used, and where the token is kept.
  /// - Throws: `StoreError` when the file is another program's, newer, or can't follow the schema; `SQLiteError`.
  public convenience init(
    path: String, schema: SyncSchema, seed: URL? = nil, environment: StoreEnvironment = .system,
    options: StoreOptions = StoreOptions()
  ) throws {
    let seeding = try seed.map { try Seed(file: $0, path: path, schema: schema).plant() } ?? .none
    try self.init(file: path, schema, environment, options, seeding)
  }

  /// Opens the file of a database of a folder.
  ///
  /// - Parameters:
  ///   - database: its name.
  ///   - isThere: whether only a file that is there is opened. Once it is open, no other is made: another process may have removed it since.
  convenience init(
    path: String, schema: SyncSchema, environment: StoreEnvironment, options: StoreOptions,
    database: String, isThere: Bool
  ) throws {
    try self.init(file: path, schema, environment, options, .none, database: database, isThere: isThere)
  }

  /// A database in memory, for previews and tests: all of it works but that it is gone with the store.
  ///
  /// ```swift
  /// let store = try Store.inMemory(schema: schema) { db in
  ///   try db.insert(Item(id: db.newID(), title: "Milk"))
  /// }
  /// ```
  /// - Parameters:
  ///   - schema: the schema.
  ///   - environment: the clock and the randomness; the system's unless given.
  ///   - fill: writes what the database begins with, in one transaction.
  public static func inMemory(
    schema: SyncSchema, environment: StoreEnvironment = .system,
    fill: (Database) throws -> Void = { _ in }
  ) throws -> Store {
    let store = try Store(file: nil, schema, environment, StoreOptions(), .none)
    try store.writer.performNow { try AppTransaction(database: $0).write(environment, fill) }
    return store
  }

  /// - Parameter file: nil for a database in memory. That has one connection, which reads and writes.
  private init(
    file: String?, _ schema: SyncSchema, _ environment: StoreEnvironment, _ options: StoreOptions,
    _ seeding: Seeding, database: String? = nil, isThere: Bool = false
  ) throws {
    (self.schema, self.environment, self.seeding) = (schema, environment, seeding)
    let replica = Position.Replica(random: environment.random()).string
    let changes = changes
    let pages: MemoryPages? = file == nil ? MemoryPages() : nil
    let open: @Sendable (SQLiteConnection.Access) throws -> LocalDatabase = { access in
      let local = try DatabaseOpening(
        path: file ?? ":memory:", schema: schema, access: access, pages: pages, replica: replica,
        options: options
      ).open()
      local.databaseInFolder = database
      return local
    }
    let mustBeThere = Locked(isThere)
    writer = try DatabaseQueue(label: "holdfast.writer", isInMemory: file == nil) {
      let local = try open(mustBeThere.withLock { $0 } ? .readWrite : .readWriteCreate)
      if database != nil { mustBeThere.withLock { $0 = true } }
      try environment.setClock(of: local.connection)
      local.connection.onCommit { changes.announce($0) }
      return local
    }
    readers =
      file == nil
      ? [writer]
      : try (0..<min(max(options.readers, 1), 16)).map { number in
        try DatabaseQueue(label: "holdfast.reader.\(number)") { try open(.readOnly) }
      }
    foreignWrites = ForeignWrites(
      watching: file.map { $0 + "-wal" }, version: try? writer.performNow { try $0.connection.dataVersion },
      sleep: environment.sleep)
  }

  deinit { Self.close(readers[...], writer) {} }

  /// The reader whose turn it is.
  func nextReader() -> DatabaseQueue { turns.next(of: readers) }

  /// Closes the file. All that was written is in it then, and it can be copied or moved, unless another process has it open.
  ///
  /// What is asked of the store afterwards throws `StoreError.closed`. A store that nobody holds any more closes itself.
  public func close() async {
    foreignWrites.stop()
    suspension.end()
    await withCheckedContinuation { continuation in
      Self.close(readers[...], writer) { continuation.resume() }
    }
  }

  /// Closes the file, and waits for it here: not to be called on a queue of the store.
  func closeNow() {
    foreignWrites.stop()
    suspension.end()
    let isDone = DispatchSemaphore(value: 0)
    Self.close(readers[...], writer) { isDone.signal() }
    isDone.wait()
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
    try await nextReader().read(environment, body)
  }

  /// Reads here and now, from one consistent state of the database, and waits for it: for a first value that a view needs at once. Elsewhere use `read`.
  ///
  /// ```swift
  /// let count = try store.readNow { try $0.count(Item.all) }
  /// ```
  /// - Parameter body: must not call the store.
  public func readNow<T>(_ body: (Database) throws -> T) throws -> T {
    try nextReader().readNow(environment, body)
  }

  /// Writes in one transaction, which becomes one change set: all of it reaches the server and the other devices, or nothing.
  ///
  /// When this returns, the edits are on disk.
  ///
  /// - Parameter body: runs on a thread of this task, or of the writing queue when something else is written; it must not wait for other tasks. When
  ///   it throws, nothing was written.
  /// - Throws: what `body` throws; `Problem` when a value does not fit the schema; `StoreError.changeSetTooLarge`.
  @discardableResult
  public func write<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
    let environment = environment
    return try await writer.performAtOnce { try AppTransaction(database: $0).write(environment, body) }
  }

  // MARK: In the background

  /// Lets go of the file, of its locks and of its memory, before the system suspends the app: iOS ends an app that holds a lock on a file in a
  /// shared folder then (`0xdead10cc`). `SyncEngine.suspend()` calls this.
  ///
  /// What is asked of the store until `resume()` throws `StoreError.suspended`; live queries wait. A store in memory stays as it is.
  /// - Parameter grace: how long what is under way may go on; then it fails with `StoreError.suspended`, and nothing of it was written.
  public func suspend(within grace: Duration = .milliseconds(500)) async {
    suspension.ask(true)
    await letGo(within: grace)
  }

  /// Opens the file again after `suspend()`. Live queries say what others have changed meanwhile.
  ///
  /// - Throws: as the opening of a store.
  public func resume() async throws {
    suspension.ask(false)
    try await takeUp()
  }

  /// Lets go of the file, unless the store was resumed meanwhile.
  func letGo(within grace: Duration = .milliseconds(500)) async {
    await suspension.inTurn {
      guard suspension.isDue else { return }
      suspension.begin()
      foreignWrites.stop()
      // The one that writes at last: whoever closes last moves the log into the file.
      await (readers + [writer]).suspend(within: grace, sleep: environment.sleep)
    }
  }

  /// Opens the file that was let go of, unless the store was suspended again meanwhile.
  func takeUp() async throws {
    try await suspension.inTurn {
      guard suspension.isOn, !suspension.isDue else { return }
      for queue in [writer] + readers { try await queue.resume() }
      watchForeignWrites()
      suspension.end()
      changes.announce(nil)
    }
  }

  /// Makes a snapshot the content of the file. Who reads or writes waits meanwhile.
  ///
  /// - Returns: how many records came; nil when somebody reads, or has the file open elsewhere: nothing was done.
  func install(_ snapshot: SnapshotInstalling) async throws -> Int? {
    try await suspension.inTurn {
      // The log goes with the last connection, and another one is to be watched.
      defer { if !suspension.isOn { watchForeignWrites() } }
      foreignWrites.stop()
      let done = try await writer.performReleased(with: readers) { [environment, suspension] in
        try snapshot.run(environment) { suspension.isDue }
      }
      guard let count = done ?? nil else { return nil }
      changes.announce(nil)
      return count
    }
  }

  /// Waits until the store is not suspended any more, or is closed.
  func untilResumed() async { await suspension.wait() }

  // MARK: Undoing

  /// The transactions of this device that can be undone, the newest first. The last 100 are kept, with 4 MiB together at most; a larger
  /// one leaves nothing to undo.
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

  /// Takes a transaction back, if it is the last one that can be: another one may have come, or been undone, since it was looked for.
  ///
  /// - Returns: nil when it is not the last.
  func undo(ifLast number: Int64) async throws -> UndoResult? {
    try await writer.perform { try Undo(database: $0).run(ifLast: number) }
  }

  // MARK: What waits

  /// How many operations wait to be confirmed by the server.
  public func waitingOperations() async throws -> Int {
    try await readers[0].perform { try Outbox(database: $0).unconfirmedOperations() }
  }

  /// The user and device that the database belongs to; nil before the first sign-in.
  public func account() async throws -> Account? {
    try await readers[0].perform { local in
      let state = try local.state()
      // Also without a user, as a file of an earlier version may be: what has a device can be signed out.
      guard let device = state.device else { return nil }
      return Account(
        user: state.user ?? "", name: state.name ?? "", device: device, isSignedIn: state.isSignedIn)
    }
  }

  /// Begins or ends to follow a public zone; it arrives, or its records leave, with the next sync or at once.
  public func follow(_ publicZone: String, _ isFollowed: Bool = true) async throws {
    guard schema.publicZones.contains(publicZone) else {
      throw StoreError(.recordMissing, "The schema has no public zone \(publicZone).")
    }
    try await writer.perform { try Following(database: $0).follow(publicZone, isFollowed) }
  }
}

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
