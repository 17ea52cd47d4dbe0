public import Foundation
public import HoldfastCore
import HoldfastSQLite
import HoldfastSystem

/// The databases of one device, of which each has servers of its own: read as one, and each in a file of its own. See docs/FOLDERS.md.
///
/// ```swift
/// let folder = try StoreFolder(path: "shopping", schema: schema)
/// try await folder.add("school", server: schoolServer)
/// let lists = try await folder.read { try $0.fetch(GroceryList.all) }  // of all databases
/// try await folder.write(in: lists[0].id) { try $0.update(GroceryList.self, id: lists[0].id) { $0.title = "New" } }
/// ```
/// All of it may be called from any task. Several folders, also of several processes, may share the files.
public final class StoreFolder: ReadableStore {
  /// The schema of all files.
  public let schema: SyncSchema
  let files: FolderFiles
  private let readers: [DatabaseQueue]
  let environment: StoreEnvironment
  private let turns = Turns()
  private let suspension = Suspension()
  /// Notices that another process has changed the list.
  let foreignLists: ForeignWrites

  /// Opens a folder, with the file `home.db` and those of the databases that were added.
  ///
  /// - Parameters:
  ///   - path: the folder. It is made where there is none; the one that it is in must be there.
  ///   - schema: the schema of all databases.
  ///   - environment: the clock and the randomness; the system's unless given.
  ///   - options: of each file. The number of readers is that of the folder.
  /// - Throws: `StoreError` when the list or home can't be opened. A file of another database that can't be opened is left out, and named by
  ///   `databases`.
  public convenience init(
    path: String, schema: SyncSchema, environment: StoreEnvironment = .system,
    options: StoreOptions = StoreOptions()
  ) throws {
    try self.init(path: path, schema: schema, environment: environment, options: options) { _ in }
  }

  /// - Parameter onStep: is called behind each step on disk.
  init(
    path: String, schema: SyncSchema, environment: StoreEnvironment = .system,
    options: StoreOptions = StoreOptions(), onStep: @escaping @Sendable (FolderFiles.Step) -> Void
  ) throws {
    let files = try FolderFiles(
      folder: path, schema: schema, environment: environment, options: options, onStep: onStep)
    (self.files, self.schema, self.environment) = (files, schema, environment)
    readers = try (0..<min(max(options.readers, 1), 16)).map { number in
      try DatabaseQueue(label: "holdfast.folder.reader.\(number)") {
        let database = try DatabaseOpening(
          path: files.path.file(of: DatabaseName.home), schema: schema, access: .readOnly, replica: "",
          options: options
        ).open()
        database.databaseInFolder = DatabaseName.home
        let attached = files.attached
        try database.attach(
          attached, cacheSize: options.cacheSize / (attached.count + 1), problem: { files.problem(of: $0) }
        ) { files.lose($0) }
        return database
      }
    }
    foreignLists = ForeignWrites(watching: files.path.changes, version: nil, sleep: environment.sleep)
    watchList()
  }

  deinit {
    foreignLists.stop()
    for reader in readers { reader.close {} }
  }

  // MARK: Databases

  /// The databases, home first, and the others in the order in which they were added.
  public var databases: [FolderDatabase] { files.databases }

  /// The file in which everything is written that belongs to no other database.
  public var home: Store { files.home }

  /// The file of a database; nil when it is not open.
  public func store(of database: String) -> Store? {
    files.stores.first { $0.name == database }?.store
  }

  /// Adds a database, and makes its file. One that is there already gets the address.
  ///
  /// - Parameters:
  ///   - name: 1 to 32 of a-z, 0-9, `_` and `-`, beginning with a letter; neither `home`, `main`, `temp` nor `folder`, nor
  ///     one that Windows keeps for a device, such as `con` and `com1`.
  ///   - server: the address of its servers, which is kept.
  /// - Returns: the database: withheld, if there are ten already.
  /// - Throws: `StoreError.valueUnfit` for another name; what the opening of its file throws.
  @discardableResult
  public func add(_ name: String, server: URL? = nil) async throws -> FolderDatabase {
    guard DatabaseName.isValid(name) else {
      throw StoreError(.valueUnfit, DatabaseName.rule)
    }
    try await refresh { [files] in try files.add(name, server: server) }
    guard let database = databases.first(where: { $0.name == name }) else {
      throw StoreError(.closed, "Another process has removed the database \(name).")
    }
    if case .failed(let error) = database.state { throw error }
    return database
  }

  /// Tries again to open the files that could not be opened or read, and looks for what other processes have added.
  public func reload() async throws { try await refresh { [files] in try files.reload() } }

  /// Signs databases out, and removes their data; see `FolderEngine.signOut`.
  ///
  /// - Returns: why it could not be done, by the database: these are as they were.
  /// - Throws: `StoreError.unsentEdits`, and others, when nothing was done.
  @discardableResult
  func leave(_ names: [String], _ leaving: FolderList.Leaving) async throws -> TextMap<StoreError> {
    if leaving != .signOut {
      try await files.run { [files] in try files.prepare(names, leaving) }
      // On Windows a file can't be removed while a reader has it open.
      for reader in readers { try? await reader.reopen() }
    }
    // Also where a reader can't open what is left: who has left is signed out, and the server is to hear of it.
    return try await refresh(mustRead: false) { [files] in try files.leave(names, leaving) }
  }

  /// Does something with the files, and reads them as they are then.
  ///
  /// - Parameter mustRead: whether it fails when a reader can't be opened again, which then goes on with what it had.
  private func refresh<T: Sendable>(
    mustRead: Bool = true, _ body: @escaping @Sendable () throws -> T
  ) async throws -> T {
    defer { files.changes.announce(nil) }
    let result: Result<T, any Error>
    do { result = .success(try await files.run(body)) } catch { result = .failure(error) }
    var failure: (any Error)?
    for reader in readers { do { try await reader.reopen() } catch { failure = error } }
    let value = try result.get()
    if mustRead, let failure { throw failure }
    return value
  }

  /// The databases that have a zone. Of a zone that exists in two, as two groups of people may make one with the same id, each has its own records.
  ///
  /// - Parameter zone: the id of its root record, the user's id, or the name of a public zone.
  public func databases(with zone: String) async throws -> [String] {
    try await places(of: zone).having.map(\.name)
  }

  private func places(of zone: String) async throws -> Places {
    try await places("zone \(zone)") { local in
      // A new zone has its root record alone, and a zone that comes page by page its entry.
      let tests =
        [
          "SELECT 1 FROM holdfast_zones WHERE zone = ?1 AND ack IS NOT NULL",
          "SELECT 1 FROM holdfast_local WHERE user = ?1",
        ]
        + local.schema.tables.filter { $0.zone == .root }.map {
          "SELECT 1 FROM \(SQLiteName.quoted($0.name)) WHERE \"id\" = ?1"
        }
      return try local.connection.row(tests.joined(separator: " UNION ALL "), [.text(zone)]) != nil
    }
  }

  /// Where something is, or may be.
  struct Places {
    let what: String
    /// The databases whose files have it, with their stores.
    var having: [(name: String, store: Store)] = []
    /// Those whose files can't be read now.
    var unread: [String] = []
  }

  /// Looks for something in each file.
  func places(
    _ what: String, _ has: @escaping @Sendable (LocalDatabase) throws -> Bool
  ) async throws -> Places {
    var places = Places(what: what)
    for (name, store) in files.present {
      do {
        guard let store else {
          places.unread.append(name)
          continue
        }
        let isThere = try await store.readers[0].perform { local in try local.reading { try has(local) } }
        if isThere { places.having.append((name, store)) }
      } catch  where name != DatabaseName.home {
        places.unread.append(name)
        let problem = FolderFiles.problem(error)
        if ![.busy, .suspended, .closed].contains(problem.code) {
          files.lose(AttachedFiles.Loss(name: name, reason: problem))
        }
      }
    }
    return places
  }

  // MARK: Reading

  /// Reads from one consistent state of each file, as if all records were in one.
  ///
  /// - Parameter body: runs on a reading queue; it can't write. It runs again when a file turns out to be damaged or gone.
  public func read<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
    try await nextReader().read(environment, body)
  }

  /// Reads here and now, and waits for it: for a first value that a view needs at once. Elsewhere use `read`.
  ///
  /// - Parameter body: must not call the folder or its stores.
  public func readNow<T>(_ body: (Database) throws -> T) throws -> T {
    try nextReader().readNow(environment, body)
  }

  /// What live queries need of the folder.
  public var liveSupport: LiveSupport {
    LiveSupport(reader: nextReader(), changes: files.changes, environment: environment) { [files] in
      files.watchForeignWrites()
    }
  }

  private func nextReader() -> DatabaseQueue { turns.next(of: readers) }

  // MARK: Writing

  /// Writes in one transaction of the file that has a zone; at home, if none has it. The transaction reads and writes this file alone.
  ///
  /// - Parameters:
  ///   - zone: of the records that are written: the id of its root record, the user's id, or the name of a public zone.
  ///   - body: see `Store.write`.
  /// - Throws: as `Store.write`; `StoreError.zoneAmbiguous` when several databases have a zone of this id, and `StoreError.cannotOpen` when a file that
  ///   may have it can't be read now: write to `store(of:)`.
  @discardableResult
  public func write<T: Sendable>(
    in zone: String, _ body: @escaping @Sendable (Database) throws -> T
  ) async throws -> T {
    try await store(at: places(of: zone)).write(body)
  }

  /// Writes in one transaction of home's file.
  @discardableResult
  public func write<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
    try await home.write(body)
  }

  /// The one database that has a zone; nil when none has it.
  ///
  /// - Throws: `StoreError.zoneAmbiguous`, `StoreError.cannotOpen`.
  func database(with zone: String) async throws -> String? {
    try one(of: await places(of: zone))?.name
  }

  /// The one database that has something. A file that can't be read may have it too: the only one that is found may be a stranger's then.
  private func one(of places: Places) throws -> (name: String, store: Store)? {
    if let unread = places.unread.first {
      throw StoreError(
        .cannotOpen,
        "The \(places.what) may be in the database \(unread), whose file can not be read now; see StoreFolder.databases. Nothing was written. Call reload(), or choose one: store(of:)."
      )
    }
    if places.having.count > 1 {
      throw StoreError(
        .zoneAmbiguous,
        "The databases \(places.having.map(\.name).joined(separator: ", ")) each have a \(places.what). Nothing was written. Choose one: store(of:)."
      )
    }
    return places.having.first
  }

  /// The store in which something is written: home's, if no file has it.
  func store(at places: Places) throws -> Store { try one(of: places)?.store ?? home }

  /// Takes the last transaction of this device back that is neither an undo nor undone, in whichever file it is. See `Store.undo`.
  ///
  /// - Returns: what was undone, and what was left.
  /// - Throws: `StoreError.nothingToUndo` when there is none; `changeSetTooLarge`.
  @discardableResult
  public func undo() async throws -> UndoResult {
    while true {
      var last: (store: Store, transaction: (number: Int64, at: Int64))?
      for (_, store) in files.open {
        let found = try await store.readers[0].perform { try UndoHistory(database: $0).last() }
        if let found, found.at > last?.transaction.at ?? .min { last = (store, found) }
      }
      guard let last else {
        throw StoreError(.nothingToUndo, "There is nothing on this device that could be undone.")
      }
      if let result = try await last.store.undo(ifLast: last.transaction.number) { return result }
    }
  }

  // MARK: The list

  private func watchList() {
    foreignLists.start { [weak self] in
      Task {
        guard let files = self?.files, try await files.run({ try files.isOutdated() }) else { return }
        try await self?.refresh { try files.load() }
      }
    }
  }

  // MARK: In the background

  /// Closes all files. What is asked of the folder afterwards throws `StoreError.closed`.
  public func close() async {
    foreignLists.stop()
    await files.pause(StoreError(.closed, "The folder was closed."))
    suspension.end()
    for reader in readers { await withCheckedContinuation { done in reader.close { done.resume() } } }
    for (_, store) in files.stores { await store.close() }
  }

  /// Lets go of all files, of their locks and of their memory, before the system suspends the app; see `Store.suspend`. `FolderEngine.suspend()` calls
  /// this.
  ///
  /// What is asked of the folder until `resume()` throws `StoreError.suspended`; live queries wait.
  /// - Parameter grace: how long what is under way may go on.
  public func suspend(within grace: Duration = .milliseconds(500)) async {
    suspension.ask(true)
    await suspension.inTurn {
      guard suspension.isDue else { return }
      suspension.begin()
      foreignLists.stop()
      // From here on nobody opens another file.
      await files.pause(
        StoreError(
          .suspended, "The folder is suspended: nothing was written. Call resume(), then do it again."))
      await readers.suspend(within: grace, sleep: environment.sleep)
      await withTaskGroup(of: Void.self) { group in
        for (_, store) in files.stores { group.addTask { await store.suspend(within: grace) } }
      }
    }
  }

  /// Opens the files again after `suspend()`, also those that another process has added. A file that can't be opened is left out, and named by `databases`.
  ///
  /// - Throws: as the opening of home.
  public func resume() async throws {
    suspension.ask(false)
    try await suspension.inTurn {
      guard suspension.isOn, !suspension.isDue else { return }
      await files.pause(nil)
      // First, as other processes may have removed files.
      try await files.run { [files] in try files.load() }
      for (name, store) in files.stores {
        do { try await store.resume() } catch  where name != DatabaseName.home {
          files.lose(AttachedFiles.Loss(name: name, reason: FolderFiles.problem(error)))
        }
      }
      try await files.run { [files] in try files.reload() }
      for reader in readers { try await reader.resume() }
      suspension.end()
      watchList()
    }
    files.changes.announce(nil)
  }
}
