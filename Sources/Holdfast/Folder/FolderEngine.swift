public import Foundation
import HoldfastCore
import HoldfastSystem

/// Keeps the databases of a folder in step with their servers: a `SyncEngine` for each, with its own session, waits and event stream. A server that is
/// lost or slow makes no other database wait. See docs/FOLDERS.md.
///
/// ```swift
/// let engine = FolderEngine(folder: folder, server: homeServer, app: "groceries 1.0")
/// Task { await engine.run() }
/// try await engine.engine(of: "school")?.signIn(name: "ann", password: password, device: "Ann's phone")
/// for await status in engine.statuses { label = status.text }
/// ```
public final class FolderEngine: Sendable {
  /// The way to the servers of a database; nil where the app does not know it yet. It must not call the engine.
  public typealias MakeTransport = @Sendable (_ database: FolderDatabase) -> (any Transport)?

  private struct Entry {
    let name: String
    let server: URL?
    let store: Store
    let engine: SyncEngine
    /// What runs it, while `run()` is there.
    var run: Task<Void, Never>?
  }
  private struct State {
    var entries: [Entry] = []
    /// How many calls of `run()` go on.
    var runs = 0
  }

  let folder: StoreFolder
  private let app: String?
  private let transport: MakeTransport
  private let state = Locked(State())
  let passes: FolderPasses

  /// An engine for a folder.
  ///
  /// - Parameters:
  ///   - folder: the folder.
  ///   - app: the app and its version; see `SyncEngine`.
  ///   - transport: the way to the servers of each database.
  public init(folder: StoreFolder, app: String? = nil, transport: @escaping MakeTransport) {
    (self.folder, self.app, self.transport) = (folder, app, transport)
    passes = FolderPasses(folder.environment)
  }

  /// An engine for a folder.
  ///
  /// - Parameters:
  ///   - folder: the folder, which knows the addresses of all databases but home.
  ///   - server: the address of home's servers.
  ///   - app: the app and its version; see `SyncEngine`.
  public convenience init(folder: StoreFolder, server: URL, app: String? = nil) {
    self.init(folder: folder, app: app) { database in
      (database.name == DatabaseName.home ? server : database.server).map { HTTPTransport(server: $0) }
    }
  }

  // MARK: Engines

  /// The engine of a database, for its session, sharing and account; nil when its file is not open, or its address is not known.
  public func engine(of database: String) -> SyncEngine? {
    engines.first { $0.name == database }?.engine
  }

  /// The engine of the database that has a zone: to invite others into it, or to leave it.
  ///
  /// - Returns: nil when no open database has it, or its address is not known.
  /// - Throws: `StoreError.zoneAmbiguous` when several have a zone of this id, and `StoreError.cannotOpen` when a file that may have it can't be read now.
  public func engine(withZone zone: String) async throws -> SyncEngine? {
    try await folder.database(with: zone).flatMap { engine(of: $0) }
  }

  /// The engines of all databases that are open, home's first.
  var engines: [(name: String, engine: SyncEngine)] {
    follow()
    return state.withLock { $0.entries.map { ($0.name, $0.engine) } }
  }

  /// Brings the engines to what is open in the folder.
  private func follow() {
    let open = folder.files.open
    let gone = state.withLock { state in
      let before = state.entries
      state.entries = open.compactMap { database, store in
        let known = before.first { $0.store === store && $0.server == database.server }
        guard var entry = known ?? entry(database, store) else { return nil }
        if state.runs > 0, entry.run == nil {
          entry.run = Task { [engine = entry.engine] in await engine.run() }
        }
        return entry
      }
      return before.filter { old in !state.entries.contains { $0.engine === old.engine } }
    }
    for entry in gone { entry.run?.cancel() }
  }

  private func entry(_ database: FolderDatabase, _ store: Store) -> Entry? {
    transport(database).map { transport in
      Entry(
        name: database.name, server: database.server, store: store,
        engine: SyncEngine(store: store, transport: transport, app: app) { [passes] in passes.noteMove() })
    }
  }

  // MARK: For the app

  /// Syncs all databases by itself until the task is cancelled, also those that are added meanwhile. See `SyncEngine.run()`. Tries again every minute or
  /// so to open a file that has failed.
  public func run() async {
    state.withLock { $0.runs += 1 }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.folder.files.followingList { self.follow() } }
      group.addTask { await self.followDirectory() }
      group.addTask { [folder] in
        while (try? await folder.environment.sleep(Self.rest)) != nil { await Self.mend(folder) }
      }
      await group.waitForAll()
    }
    let ended = state.withLock { state in
      state.runs -= 1
      // Another one, such as of a second window, goes on.
      if state.runs > 0 { return [Task<Void, Never>]() }
      defer { for index in state.entries.indices { state.entries[index].run = nil } }
      return state.entries.compactMap(\.run)
    }
    for task in ended { task.cancel() }
    for task in ended { await task.value }
  }

  /// How long a file that has failed rests before it is tried again.
  static let rest = Duration.seconds(61)

  private static func mend(_ folder: StoreFolder) async {
    let isFailed = folder.databases.contains { if case .failed = $0.state { true } else { false } }
    if isFailed { try? await folder.reload() }
  }

  /// Syncs each database once, side by side, and returns when each is done or has failed. A file that has failed is tried again first. The others do not
  /// wait for one that is silent, but this function does, until its transport gives up.
  ///
  /// ```swift
  /// let summary = try await engine.sync()
  /// for failure in summary.failures { print("\(failure.database): \(failure.error)") }
  /// ```
  /// - Throws: `CancellationError` at once when the task is cancelled. What keeps a database from syncing is in the summary.
  public func sync() async throws -> FolderSummary {
    await Self.mend(folder)
    return try await sync(finding: true) { try await $0.sync() }
  }

  /// The same while the app is in the background; see `SyncEngine.syncInBackground()`.
  ///
  /// - Throws: also `StoreError.suspended` when another process has changed the folder meanwhile: a file may be that of another server by now.
  public func syncInBackground() async throws -> FolderSummary {
    let files = folder.files
    if try await files.run(whilePaused: true, { try files.isOutdated() }) {
      throw StoreError(
        .suspended, "Another process has changed the folder. Nothing was synced. Call resume().")
    }
    return try await sync(finding: false) { try await $0.syncInBackground() }
  }

  /// - Parameter finding: whether home's directory is asked, too.
  private func sync(
    finding: Bool, _ one: @escaping @Sendable (SyncEngine) async throws -> SyncSummary
  ) async throws -> FolderSummary {
    let engines = engines
    async let found: Void = finding ? findDatabasesIfDue() : ()
    var results = await each(engines) { try await one($0) }
    await found
    try Task.checkCancellation()
    let isMoved = results.contains { (try? $0.get())?.moved ?? 0 > 0 }
    if finding, isMoved { try? await findDatabases() }
    // Those that were found, and those that have a session again.
    var again: [(name: String, engine: SyncEngine)] = []
    for (name, engine) in self.engines {
      if let known = engines.firstIndex(where: { $0.engine === engine }) {
        guard results[known].hasNoSession, await engine.isSignedIn else { continue }
      }
      again.append((name, engine))
    }
    var summary = FolderSummary()
    for ((name, engine), result) in zip(again, await each(again) { try await one($0) }) {
      if let known = engines.firstIndex(where: { $0.engine === engine }) {
        results[known] = result
      } else {
        summary.add(name, result)
      }
    }
    for ((name, _), result) in zip(engines, results) { summary.add(name, result) }
    if finding {
      let carried = await carryMoved()
      let senders = self.engines.filter { carried.contains($0.name) }
      for ((name, _), result) in zip(senders, await each(senders) { try await one($0) }) {
        summary.add(name, result)
      }
    }
    return summary
  }

  /// Runs `body` for each engine, side by side.
  private func each<T: Sendable>(
    _ engines: [(name: String, engine: SyncEngine)],
    _ body: @escaping @Sendable (SyncEngine) async throws -> T
  ) async -> [Result<T, any Error>] {
    await withTaskGroup(of: (Int, Result<T, any Error>).self) { group in
      for (index, (_, engine)) in engines.enumerated() {
        group.addTask {
          do { return (index, .success(try await body(engine))) } catch { return (index, .failure(error)) }
        }
      }
      var results: [(Int, Result<T, any Error>)] = []
      for await result in group { results.append(result) }
      return results.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }

  /// Sets or removes the push token of this installation in each database that is open; see `SyncEngine.setPushToken`.
  ///
  /// - Throws: what one of them throws, when all others have it.
  public func setPushToken(_ token: PushToken?) async throws {
    for result in await each(engines, { try await $0.setPushToken(token) }) { try result.get() }
  }

  /// Says that the network is back.
  public func networkIsReachable() async { _ = await each(engines) { await $0.networkIsReachable() } }

  // MARK: In the background

  /// Rests before the system suspends the app: what goes over the network is broken off, and the folder lets go of all files.
  public func suspend() async {
    _ = await each(engines) { await $0.rest(SyncEngine.suspended) }
    await folder.suspend()
  }

  /// Goes on after `suspend()`; while `run()` is there, syncs at once.
  ///
  /// - Throws: as the opening of home's file.
  public func resume() async throws {
    try await folder.resume()
    _ = await each(engines) { await $0.goOn() }
  }

  // MARK: Leaving

  /// Ends the sessions of all databases on this device.
  ///
  /// Once this is noted in the folder, a launch goes on with it: nobody stays signed in by half.
  /// - Parameters:
  ///   - removingData: whether all records leave the device too, with the files of all databases but home.
  ///   - discardingUnsent: whether edits that were not sent, refused ones, and what is still to be recovered to a restored server may be removed with
  ///     them.
  /// - Throws: `StoreError.unsentEdits` when there are such and they may not be discarded, or why a file can't be looked at for them: nothing has changed
  ///   then; what kept one database from being signed out, when all others are.
  public func signOut(removingData: Bool = false, discardingUnsent: Bool = false) async throws {
    try await leave(
      folder.databases.map(\.name), removingData ? (discardingUnsent ? .discard : .remove) : .signOut)
  }

  /// Removes a database from this device: its session, its records and its file. Its user and the zones stay on its servers.
  ///
  /// - Parameters:
  ///   - database: its name; not home.
  ///   - discardingUnsent: as for `signOut`.
  /// - Throws: as `signOut`; `StoreError.valueUnfit` for home.
  public func remove(_ database: String, discardingUnsent: Bool = false) async throws {
    guard database != DatabaseName.home else {
      throw StoreError(.valueUnfit, "Home can not be removed. Sign out, and remove the data.")
    }
    try await leave([database], discardingUnsent ? .discard : .remove)
  }

  private func leave(_ names: [String], _ leaving: FolderList.Leaving) async throws {
    let sessions = await sessions(of: names)
    let failures = try await folder.leave(names, leaving)
    let done = names.filter { failures[$0] == nil }
    _ = await each(engines.filter { done.contains($0.name) }) { await $0.handle(.signedOut) }
    // Without a connection the tokens stay valid on the servers.
    await withTaskGroup(of: Void.self) { group in
      for (name, transport, token) in sessions where done.contains(name) {
        group.addTask {
          _ = try? await transport.send(
            TransportRequest(method: "DELETE", path: "v1/sessions/current", token: token))
        }
      }
    }
    if let failure = names.lazy.compactMap({ failures[$0] }).first { throw failure }
  }

  private func sessions(of names: [String]) async -> [(name: String, transport: any Transport, token: String)]
  {
    let engines = engines.filter { names.contains($0.name) }
    let tokens = await each(engines) { try await $0.store.writer.perform { try $0.sessionToken() } }
    return zip(engines, tokens).compactMap { engine, token in
      (try? token.get()).map { (engine.name, engine.engine.transport, $0) }
    }
  }
}
