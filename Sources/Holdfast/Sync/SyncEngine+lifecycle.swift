import HoldfastSystem

#if canImport(BackgroundTasks) && (os(iOS) || os(tvOS) || os(visionOS) || HOLDFAST_STANDINS)
  public import BackgroundTasks
#endif

extension SyncEngine {
  /// What an app shows of the sync, now and after every change. Equal values are not repeated.
  ///
  /// ```swift
  /// for await status in engine.statuses { badge = status.waiting }
  /// ```
  public nonisolated var statuses: AsyncStream<SyncStatus> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let board = StatusBoard { continuation.yield($0) }
      let task = Task {
        let stop = await observe { board.set($0) }
        defer { stop() }
        do { for try await counts in store.live({ try SyncCounts($0) }) { board.set(counts) } } catch {}
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  // MARK: In the background

  /// Rests before the system suspends the app: what goes over the network is broken off, and the store lets go of its file (`Store.suspend`).
  ///
  /// Callers of `sync()` get `StoreError.suspended`. `run()` stays, and goes on after `resume()`.
  /// ```swift
  /// case .background: await engine.suspend()
  /// case .active: try await engine.resume()
  /// ```
  public func suspend() async {
    rest(Self.suspended)
    await store.suspend()
  }

  static let suspended = StoreError(
    .suspended, "The engine is suspended. Call resume(), then sync again.")

  /// Goes on after `suspend()`: opens the file again and, while `run()` is there, syncs at once.
  ///
  /// - Throws: as the opening of a store.
  public func resume() async throws {
    try await store.resume()
    await goOn()
  }

  /// Syncs once while the app is in the background, such as in a task that the system grants. A store that was suspended is resumed for that, and
  /// suspended again when the last such sync ends, unless `resume()` came meanwhile.
  ///
  /// - Throws: as `sync()`. Cancel the task when the time is over.
  @discardableResult
  public func syncInBackground() async throws -> SyncSummary {
    guard let visit = store.suspension.visit() else { return try await sync() }
    let result: Result<SyncSummary, any Error>
    do {
      try await store.takeUp()
      result = .success(try await sync())
    } catch { result = .failure(error) }
    if store.suspension.leave(visit) {
      rest(Self.suspended)
      await store.letGo()
    }
    return try result.get()
  }

  #if canImport(BackgroundTasks) && (os(iOS) || os(tvOS) || os(visionOS) || HOLDFAST_STANDINS)
    /// Syncs in a background task of the system, and ends the task: when it is done, or when its time is over.
    ///
    /// ```swift
    /// BGTaskScheduler.shared.register(forTaskWithIdentifier: "org.example.sync", using: nil) { task in
    ///   Task { await engine.sync(in: task) }
    /// }
    /// ```
    public nonisolated func sync(in task: sending BGTask) async {
      let work = Task { try await syncInBackground() }
      task.expirationHandler = { work.cancel() }
      let isDone = (try? await work.value) != nil
      task.setTaskCompleted(success: isDone)
    }
  #endif
}

/// Makes statuses of what the engine and the database say.
private final class StatusBoard: Sendable {
  private struct State {
    var moment: SyncMoment?
    var counts: SyncCounts?
    var last: SyncStatus?
  }
  private let state = Locked(State())
  private let tell: @Sendable (SyncStatus) -> Void

  init(_ tell: @escaping @Sendable (SyncStatus) -> Void) { self.tell = tell }

  func set(_ moment: SyncMoment) { change { $0.moment = moment } }
  func set(_ counts: SyncCounts) { change { $0.counts = counts } }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { state in
      body(&state)
      guard let counts = state.counts else { return }
      let status = SyncStatus(state.moment, counts)
      if status == state.last { return }
      state.last = status
      tell(status)
    }
  }
}
