public import Foundation
import HoldfastCore

/// Keeps a store and a server in step.
///
/// `run()` syncs at launch, after local edits, when the server says that something moved, on a timer and after failures, until it is cancelled. `sync()` syncs once by hand, also
/// without `run()`. Several engines, also of several processes, may work on one file; the protocol makes that safe.
///
/// ```swift
/// let engine = SyncEngine(store: store, server: server, app: "groceries 1.0")
/// try await engine.signIn(name: "ann", password: password, device: "Ann's phone")
/// Task { await engine.run() }
/// ```
public actor SyncEngine {
  let store: Store
  let transport: any Transport
  private let conversation: SyncConversation
  private var timer: Task<Void, Never>?
  private var stream: Task<Void, Never>?
  private var streamTimer: Task<Void, Never>?
  private var waiters: [Int: CheckedContinuation<SyncSummary, any Error>] = [:]
  /// The request that is under way.
  private var exchange: Task<Void, Never>?
  private let network: (any NetworkMonitor)?
  /// Is called when the server says that zones are in another database.
  private let onMove: @Sendable () -> Void
  private var moment = SyncMoment()
  private var observers: [Int: @Sendable (SyncMoment) -> Void] = [:]
  private var lastNumber = 0
  /// How many calls of `run()` go on.
  private(set) var runs = 0
  var isRunning: Bool { runs > 0 }
  /// The effects of steps that ended before an earlier one was heard of.
  private var early: [Int: [SyncConversation.Effect]] = [:]
  private var nextStep = 0

  /// An engine for a store and a way to the server.
  ///
  /// - Parameters:
  ///   - store: the store.
  ///   - transport: the way to the server.
  ///   - snapshotsFrom: the number of changes from which on a zone that is new here comes as a snapshot and not page by page; 5,000
  ///     unless given, nil for never.
  ///   - app: the app and its version, such as `jot 1.2`, for the server's operators: at most 64 characters of ASCII; nil for nothing.
  ///   - network: tells when the network is back; the system unless given. Without one, `networkIsReachable()` says so.
  public init(
    store: Store, transport: any Transport, snapshotsFrom: Int? = 5000, app: String? = nil,
    network: (any NetworkMonitor)? = SystemNetworkMonitor()
  ) {
    self.init(
      store: store, transport: transport, snapshotsFrom: snapshotsFrom, app: app, network: network, onMove: {}
    )
  }

  init(
    store: Store, transport: any Transport, snapshotsFrom: Int? = 5000, app: String?,
    network: (any NetworkMonitor)? = SystemNetworkMonitor(), onMove: @escaping @Sendable () -> Void
  ) {
    self.store = store
    self.transport = transport
    self.network = network
    self.onMove = onMove
    conversation = SyncConversation(
      canStream: transport is any EventTransport, snapshotsFrom: snapshotsFrom,
      app: app.map { ClientVersion.name($0) },
      random: store.environment.random)
  }

  /// An engine for a store and the address of a server.
  public init(store: Store, server: URL, snapshotsFrom: Int? = 5000, app: String? = nil) {
    self.init(
      store: store, transport: HTTPTransport(server: server), snapshotsFrom: snapshotsFrom, app: app)
  }

  // MARK: For the app

  /// Syncs by itself until the task is cancelled: at launch, after edits, when the server says that something moved, when the network is back, on a
  /// timer and after failures. It may run more than once, as for two windows; the engine goes on until the last one is cancelled.
  ///
  /// ```swift
  /// let engine = SyncEngine(store: store, server: server)
  /// let syncing = Task { await engine.run() }
  /// ```
  public func run() async {
    runs += 1
    let (edits, edit) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    // What another program writes is announced without a table.
    let listener = store.changes.listen(tables: ["holdfast_outbox"]) { _ in edit.yield() }
    store.watchForeignWrites()
    await handle(.launched)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { for await _ in edits { await self.lookForEdits() } }
      group.addTask { await self.followNetwork() }
      await group.waitForAll()
    }
    store.changes.stop(listener)
    runs -= 1
    // Another one, such as of a second window, goes on.
    if isRunning { return }
    await step { $0.rest(in: $1) }
    if isRunning { return await handle(.launched) }
    for task in [timer, stream, streamTimer] { task?.cancel() }
  }

  private func followNetwork() async {
    guard let network else { return }
    var isFirst = true
    for await isThere in network.changes {
      if isThere, !isFirst { await handle(.reachable) }
      isFirst = false
    }
  }

  /// Syncs once, until the server has everything from here and everything from there is here.
  ///
  /// ```swift
  /// let summary = try await engine.sync()
  /// ```
  /// - Returns: what it did.
  /// - Throws: `StoreError.offline` when the server can't be reached or has no time, `signedOut` when the session expired,
  ///   `foreignObject`, `fileReplaced`, `databaseIsBroken` or `databaseIsNewer` when the file has to be seen to first; the edits stay and are sent the
  ///   next time. `CancellationError` at once when the task is cancelled.
  @discardableResult
  public func sync() async throws -> SyncSummary {
    let waiter = newNumber()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        if store.suspension.isDue { return continuation.resume(throwing: Self.suspended) }
        if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
        waiters[waiter] = continuation
        Task { await step { $0.handle(.syncNow, waiter: waiter, in: $1) } }
      }
    } onCancel: {
      Task { await self.abandon(waiter) }
    }
  }

  /// A caller of `sync` does not wait any more. What nobody waits for is broken off.
  private func abandon(_ waiter: Int) {
    guard let continuation = waiters.removeValue(forKey: waiter) else { return }
    continuation.resume(throwing: CancellationError())
    if waiters.isEmpty, !isRunning { exchange?.cancel() }
  }

  /// Breaks off what goes over the network, and lets go of the store's file: see `SyncEngine.suspend()`.
  func rest(_ error: StoreError) {
    stream?.cancel()
    exchange?.cancel()
    for waiter in waiters.values { waiter.resume(throwing: error) }
    waiters = [:]
  }

  /// Begins again after a rest.
  func goOn() async { if isRunning { await handle(.launched) } }

  /// Says that the network is back.
  public func networkIsReachable() async { await handle(.reachable) }

  /// What the engine is about, now and after every change. `SyncEngine.statuses` has what an app shows.
  public var states: AsyncStream<SyncState> {
    AsyncStream(bufferingPolicy: .bufferingNewest(64)) { continuation in
      let stop = observe { continuation.yield($0.state) }
      continuation.onTermination = { _ in stop() }
    }
  }

  /// Calls `tell` now and after every change, until what it returns is called.
  func observe(_ tell: @escaping @Sendable (SyncMoment) -> Void) -> @Sendable () -> Void {
    let number = newNumber()
    observers[number] = tell
    tell(moment)
    return { Task { await self.removeObserver(number) } }
  }

  private func newNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  private func removeObserver(_ number: Int) { observers[number] = nil }

  private func lookForEdits() async {
    if ((try? await store.waitingOperations()) ?? 0) > 0 { await handle(.edited) }
  }

  // MARK: The conversation

  func handle(_ event: SyncMachine.Event) async { await step { $0.handle(event, in: $1) } }

  /// Takes a step of the conversation on the writing queue, and performs what comes of it when all before is performed.
  private func step(
    _ body: @escaping @Sendable (SyncConversation, LocalDatabase) -> [SyncConversation.Effect]
  ) async {
    do {
      let (number, effects) = try await store.writer.perform { [conversation] database in
        conversation.numbered { body($0, database) }
      }
      early[number] = effects
    } catch let error as StoreError where error.code == .suspended {
      // The step was not taken: it comes when the store is there again.
      await store.untilResumed()
      return await step(body)
    } catch {
      return rest(StoreError(.closed, "The store was closed."))
    }
    while let effects = early.removeValue(forKey: nextStep) {
      nextStep += 1
      for effect in effects { perform(effect) }
    }
  }

  private func perform(_ effect: SyncConversation.Effect) {
    switch effect {
    case .send(let request, let question): exchange = Task { await ask(request, question) }
    case .schedule(let wait):
      timer?.cancel()
      guard isRunning else { return }
      timer = Task { [sleep = store.environment.sleep] in
        guard (try? await sleep(wait)) != nil else { return }
        await self.handle(.timer)
      }
    case .stopTimer:
      timer?.cancel()
      timer = nil
    case .openStream(let number, let token, let lastEventID):
      stream?.cancel()
      stream = Task { await listen(number, token: token, lastEventID: lastEventID) }
    case .closeStream:
      stream?.cancel()
      stream = nil
    case .scheduleStream(let wait, let number):
      streamTimer?.cancel()
      streamTimer = Task { [sleep = store.environment.sleep] in
        guard (try? await sleep(wait)) != nil else { return }
        await step { $0.streamTimer(number, in: $1) }
      }
    case .install(let snapshot, let question): Task { await install(snapshot, question) }
    case .publish(let new):
      moment.change(to: new, at: store.environment.now())
      for tell in observers.values { tell(moment) }
    case .tellMoved: onMove()
    case .finish(let finished, let result):
      for waiter in finished {
        waiters.removeValue(forKey: waiter)?.resume(with: result.mapError { $0 as any Error })
      }
    }
  }

  private func listen(_ number: Int, token: String, lastEventID: String?) async {
    guard let transport = transport as? any EventTransport else { return }
    var end = SyncConversation.StreamEvent.ended(status: nil, retryAfter: nil)
    do {
      for try await bytes in transport.events(token: token, lastEventID: lastEventID) {
        await step { $0.receive(.bytes(bytes), stream: number, in: $1) }
      }
    } catch let refusal as EventStreamRefusal {
      end = .ended(status: refusal.status, retryAfter: refusal.retryAfter)
    } catch {
      // However it broke, another one is asked for.
    }
    await step { [end] in $0.receive(end, stream: number, in: $1) }
  }

  private func ask(_ request: TransportRequest, _ question: SyncConversation.Question) async {
    let answer: Result<TransportAnswer, StoreError>
    do { answer = .success(try await send(request)) } catch { answer = .failure(error) }
    await step { $0.receive(answer, to: question, in: $1) }
  }

  private func install(_ snapshot: SnapshotInstalling, _ question: SnapshotQuestion) async {
    let result: Result<Int?, any Error>
    do { result = .success(try await store.install(snapshot)) } catch { result = .failure(error) }
    await step { $0.installed(result, question, in: $1) }
  }

  /// Sends a request.
  ///
  /// - Throws: `StoreError.offline` when no whole answer came; it says why, such as a certificate that is not trusted.
  func send(_ request: TransportRequest) async throws(StoreError) -> TransportAnswer {
    do { return try await transport.send(request) } catch {
      #if canImport(Darwin)
        let reason = (error as? URLError)?.localizedDescription ?? "\(error)"
      #else
        let reason = "\(error)"
      #endif
      throw StoreError(
        .offline,
        "The server can not be reached. Try again when there is a connection. The system says: \(reason)")
    }
  }
}
