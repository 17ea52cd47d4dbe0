import Dispatch
import Foundation
import HoldfastCore
import HoldfastSQLite
import HoldfastSystem

/// The files of a folder: opens those that its list names, makes those that are not there, and removes those that leave.
final class FolderFiles: Sendable {
  /// What is on disk, step by step. A process may be killed behind each of them; docs/FOLDERS.md says what the next launch does.
  enum Step: String, CaseIterable, Sendable {
    /// The list names a database that has no file yet.
    case listed
    /// It has its file.
    case made
    /// The list says which databases leave.
    case marked
    /// A file that leaves has no data and no session any more.
    case emptied
    /// It is gone, and the list still names it.
    case deleted
  }

  /// A database of the list.
  private struct Entry {
    let name: String
    var server: URL?
    var store: Store?
    /// Why it is not read: its store is closed, or fails.
    var problem: StoreError?
    var isWithheld = false
    /// Whether the list says that it leaves: it is not used until that is done.
    var isLeaving = false
  }

  let path: FolderPath
  let list: FolderList
  let home: Store
  /// The commits of all files.
  let changes = ChangeHub()
  /// That other databases are there, or are otherwise.
  let listing = ChangeHub()
  let schema: SyncSchema
  let environment: StoreEnvironment
  let options: StoreOptions
  let onStep: @Sendable (Step) -> Void
  private let entries = Locked<[Entry]>([])
  /// Whether writes of other programs are looked for.
  private let isWatching = Locked(false)
  /// Why nothing is to be done with files, while they are let go of.
  private let pause = Locked<StoreError?>(nil)
  private let queue = DispatchQueue(label: "holdfast.folder")

  /// Opens the files of a folder, and makes it where there is none.
  ///
  /// - Parameter onStep: is called behind each step on disk.
  /// - Throws: `StoreError` when the list or home can't be opened. Of other files, `databases` says so.
  init(
    folder: String, schema: SyncSchema, environment: StoreEnvironment, options: StoreOptions,
    onStep: @escaping @Sendable (Step) -> Void
  ) throws {
    path = FolderPath(folder: folder)
    list = FolderList(path: path)
    var options = options
    // The folder's own connections read; a store's reader is for what concerns its file alone.
    options.readers = 1
    (self.schema, self.environment, self.options, self.onStep) = (schema, environment, options, onStep)
    try PrivateFile.makeFolder(folder)
    PrivateFile.makeDatabase(path.changes)
    home = try Store(
      path: path.file(of: DatabaseName.home), schema: schema, environment: environment, options: options,
      database: DatabaseName.home, isThere: false)
    follow(home)
    try reload()
  }

  /// Runs `body` on the folder's queue, as it waits for the disk.
  ///
  /// - Parameter whilePaused: whether it may also run while files are let go of.
  /// - Throws: `StoreError.suspended`, `StoreError.closed`; what `body` throws.
  func run<T: Sendable>(
    whilePaused: Bool = false, _ body: @escaping @Sendable () throws -> T
  ) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { [self] in
        continuation.resume(
          with: Result {
            if !whilePaused, let reason = pause.withLock({ $0 }) { throw reason }
            return try body()
          })
      }
    }
  }

  /// Lets nothing begin from now on, and waits for what is under way; with nil, lets it begin again.
  func pause(_ reason: StoreError?) async {
    await withCheckedContinuation { continuation in
      queue.async { [self] in
        pause.withLock { $0 = reason }
        continuation.resume()
      }
    }
  }

  // MARK: What is open

  var databases: [FolderDatabase] {
    entries.withLock { entries in
      entries.map { entry in
        let state: FolderDatabase.State =
          entry.problem.map { .failed($0) } ?? (entry.isWithheld ? .withheld : .open)
        return FolderDatabase(name: entry.name, server: entry.server, state: state)
      }
    }
  }

  /// The stores that are open, home first.
  var stores: [(name: String, store: Store)] {
    entries.withLock { $0.compactMap { entry in entry.store.map { (entry.name, $0) } } }
  }

  /// The databases that may have records, home first, with their stores; nil for one that can't be read.
  var present: [(name: String, store: Store?)] {
    entries.withLock { $0 }.filter { !$0.isWithheld && !$0.isLeaving || path.hasFile($0.name) }
      .map { ($0.name, $0.problem == nil ? $0.store : nil) }
  }

  /// The databases that are open, with their stores, home first.
  var open: [(database: FolderDatabase, store: Store)] {
    let stores = TextMap(stores)
    return databases.filter { $0.state == .open }.compactMap { database in
      stores[database.name].map { (database, $0) }
    }
  }

  /// What a reading connection attaches to home's file.
  var attached: [AttachedFiles.File] {
    entries.withLock { entries in
      entries.filter { $0.store != nil && $0.problem == nil && $0.name != DatabaseName.home }
        .map { AttachedFiles.File(name: $0.name, path: path.file(of: $0.name)) }
    }
  }

  /// Why a database is not read.
  func problem(of name: String) -> StoreError? {
    entries.withLock { entries in entries.first { $0.name == name }?.problem }
  }

  /// A file can't be read any more.
  func lose(_ loss: AttachedFiles.Loss) {
    let isNew = entries.withLock { entries in
      guard let index = entries.firstIndex(where: { $0.name == loss.name }), entries[index].problem == nil
      else { return false }
      entries[index].problem = loss.reason
      return true
    }
    guard isNew else { return }
    changes.announce(nil)
    listing.announce(nil)
  }

  /// Begins to look for writes of other programs to any of the files.
  func watchForeignWrites() {
    isWatching.withLock { $0 = true }
    for (_, store) in stores { store.watchForeignWrites() }
  }

  private func follow(_ store: Store) {
    _ = store.changes.listen(tables: nil) { [changes] in changes.announce($0) }
    if isWatching.withLock({ $0 }) { store.watchForeignWrites() }
  }

  /// Runs `body` now, and whenever other databases are there or are otherwise, until the task is cancelled.
  func followingList(_ body: () -> Void) async {
    let (lists, list) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let listener = listing.listen(tables: nil) { _ in list.yield() }
    body()
    for await _ in lists { body() }
    listing.stop(listener)
  }

  // MARK: The list

  /// Whether the list is otherwise than it was when the files were opened: another process has changed it.
  func isOutdated() throws -> Bool {
    let known = entries.withLock { $0 }
    return try !list.read().rows.elementsEqual(known) { row, entry in
      row.name == entry.name && row.server.flatMap(URL.init) == entry.server
        && (row.leaving != nil) == entry.isLeaving
    }
  }

  /// Brings what is open to the list: makes files that are not there, opens what is new, and closes what is gone. What has failed stays so.
  func load() throws { try update() }

  /// The same; what has failed is closed and tried again. What is marked to leave is done first.
  func reload() throws {
    // Most launches need not have the list to themselves.
    let isMarked = try !System.exists(path.list) || list.read().rows.contains { $0.leaving != nil }
    let failures = try isMarked ? list.write { try finish($0, isLaunch: true) } : [:]
    let failed = databases.filter { if case .failed = $0.state { true } else { false } }
    try update(opening: failed.map(\.name), leaving: failures)
  }

  /// Adds a database to the list, and makes its file.
  func add(_ name: String, server: URL?) throws {
    let isNew = try list.write { try $0.add(name, server: server?.absoluteString) }
    onStep(.listed)
    try update(opening: problem(of: name) == nil ? [] : [name])
    if isNew, let problem = problem(of: name), problem.code == .notAHoldfastDatabase {
      try list.write { try $0.remove(name) }
      try load()
      throw problem
    }
  }

  /// - Parameters:
  ///   - again: which are closed, if they are open, and opened.
  ///   - failures: why what was marked could not be done, by the database: its file stays closed.
  func update(opening again: [String] = [], leaving failures: TextMap<StoreError> = [:]) throws {
    let (rows, limit) = try list.read()
    let before = entries.withLock { $0 }
    for old in before where !rows.contains(where: { $0.name == old.name }) { close(old.name) }
    let now = rows.enumerated().map { index, row in
      let old = before.first { $0.name == row.name } ?? Entry(name: row.name)
      var entry = old
      entry.server = row.server.flatMap(URL.init)
      entry.isWithheld = index >= limit
      entry.isLeaving = row.leaving != nil
      let failure = failures[row.name].flatMap { $0.code == .unsentEdits ? nil : $0 }
      if row.name == DatabaseName.home {
        (entry.store, entry.problem) = (home, nil)
      } else if entry.isWithheld || entry.isLeaving || failure != nil {
        close(row.name)
        (entry.store, entry.problem) = (nil, entry.isLeaving ? Self.leaves(row.name) : failure)
      } else if old.isLeaving || again.contains(row.name) || (old.store == nil && old.problem == nil) {
        close(row.name)
        open(&entry)
      }
      return entry
    }
    entries.withLock { entries in
      // A reader may have lost one meanwhile.
      entries = now.map { entry in
        var entry = entry
        if let lost = entries.first(where: { $0.name == entry.name }), lost.store === entry.store {
          entry.problem = entry.problem ?? lost.problem
        }
        return entry
      }
    }
    if isWatching.withLock({ $0 }) { watchForeignWrites() }
    listing.announce(nil)
  }

  private func open(_ entry: inout Entry) {
    do {
      let store = try store(entry.name)
      onStep(.made)
      follow(store)
      (entry.store, entry.problem) = (store, nil)
    } catch { (entry.store, entry.problem) = (nil, Self.problem(error)) }
  }

  /// Opens a file. Only who has the list makes one: another process may just have removed this one.
  private func store(_ name: String) throws -> Store {
    if path.hasFile(name) { return try store(name, isThere: true) }
    return try list.write { list in
      guard try list.rows().contains(where: { $0.name == name }) else {
        throw StoreError(.closed, "Another process has removed the database \(name).")
      }
      let isThere = path.hasFile(name)
      if !isThere { try path.remove(name) }
      return try store(name, isThere: isThere)
    }
  }

  private func store(_ name: String, isThere: Bool) throws -> Store {
    try Store(
      path: path.file(of: name), schema: schema, environment: environment, options: options, database: name,
      isThere: isThere)
  }

  /// Closes the store of a database other than home, and waits for it.
  ///
  /// - Parameter problem: why it stays closed.
  func close(_ name: String, _ problem: StoreError? = nil) {
    let store = entries.withLock { entries -> Store? in
      guard name != DatabaseName.home, let index = entries.firstIndex(where: { $0.name == name }) else {
        return nil
      }
      defer { (entries[index].store, entries[index].problem) = (nil, problem) }
      return entries[index].store
    }
    store?.closeNow()
  }

  static func leaves(_ name: String) -> StoreError {
    StoreError(
      .closed, "The database \(name) is being removed from this device. Call reload() to go on with it.")
  }

  static func problem(_ error: any Error) -> StoreError {
    switch error {
    case let error as StoreError: error
    case let error as SQLiteError where error.isDamage: .damaged(error)
    case let error as SQLiteError:
      StoreError(ofFile: error) ?? StoreError(.cannotOpen, "The file can not be opened: \(error)")
    default: StoreError(.cannotOpen, "The file can not be opened: \(error)")
    }
  }
}
