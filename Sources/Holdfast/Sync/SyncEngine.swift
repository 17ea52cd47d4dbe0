public import Foundation
import HoldfastCore

/// Keeps a store and a server in step.
///
/// `run()` syncs at launch, after local edits, on a timer and after failures, until it is cancelled. `sync()` syncs once by hand, also
/// without `run()`. Several engines, also of several processes, may work on one file; the protocol makes that safe.
public actor SyncEngine {
  let store: Store
  let transport: any Transport
  private var machine: SyncMachine?
  private var timer: Task<Void, Never>?
  private var sending: Task<Void, Never>?
  private var waiters: [CheckedContinuation<SyncSummary, any Error>] = []
  private var summary = SyncSummary()
  private var total = 0
  private var state = SyncState.idle
  private var observers: [Int: AsyncStream<SyncState>.Continuation] = [:]
  private var nextObserver = 0
  private var isRunning = false
  /// The token that the server refused; another one in the store is a new session.
  private var refusedToken: String?
  /// The request that was too large.
  private var tooLarge: PreparedRequest?

  /// An engine for a store and a way to the server.
  public init(store: Store, transport: any Transport) {
    self.store = store
    self.transport = transport
  }

  /// An engine for a store and the address of a server.
  public init(store: Store, server: URL) {
    self.init(store: store, transport: URLSessionTransport(server: server))
  }

  // MARK: For the app

  /// Syncs by itself until the task is cancelled.
  public func run() async {
    isRunning = true
    defer { isRunning = false }
    let (edits, edit) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let listener = store.changes.listen(tables: ["holdfast_outbox"]) { edit.yield() }
    let version = try? await store.foreignVersion()
    await handle(.launched)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { for await _ in edits { await self.lookForEdits() } }
      group.addTask { try? await self.store.pollForeignWrites(since: version) { edit.yield() } }
      await group.waitForAll()
    }
    store.changes.stop(listener)
    timer?.cancel()
  }

  /// Syncs once, until the server has everything from here and everything from there is here.
  ///
  /// - Returns: what it did.
  /// - Throws: `StoreError.offline` when the server can't be reached or has no time, `signedOut` when the session expired; the
  ///   edits stay and are sent the next time.
  @discardableResult
  public func sync() async throws -> SyncSummary {
    await prepareMachine()
    return try await withCheckedThrowingContinuation { continuation in
      // In one step, so that the end of an earlier sync is not taken for the end of this one.
      let actions = machine?.handle(.syncNow) ?? []
      waiters.append(continuation)
      Task { for action in actions { await perform(action) } }
    }
  }

  /// Says that the network is back.
  public func networkIsReachable() async { await handle(.reachable) }

  /// What the engine is about, now and after every change.
  public var states: AsyncStream<SyncState> {
    AsyncStream(bufferingPolicy: .bufferingNewest(64)) { continuation in
      nextObserver += 1
      let number = nextObserver
      observers[number] = continuation
      continuation.yield(state)
      continuation.onTermination = { _ in Task { await self.forget(number) } }
    }
  }

  private func forget(_ number: Int) { observers[number] = nil }

  private func publish(_ new: SyncState) {
    state = new
    for observer in observers.values { observer.yield(new) }
  }

  private func lookForEdits() async {
    await prepareMachine()
    if ((try? await store.waitingOperations()) ?? 0) > 0 { await handle(.edited) }
  }

  // MARK: The machine

  func handle(_ event: SyncMachine.Event) async {
    await prepareMachine()
    for action in machine?.handle(event) ?? [] { await perform(action) }
  }

  private func prepareMachine() async {
    guard machine == nil || machine?.state == .signedOut else { return }
    let token = try? await store.readers[0].perform { try $0.state().token }
    if machine == nil {
      machine = SyncMachine(isSignedIn: token != nil, random: store.environment.random)
    } else if machine?.state == .signedOut, let token, token != refusedToken {
      // Another process, or another engine of this one, has signed in.
      for action in machine?.handle(.signedIn) ?? [] { await perform(action) }
    }
  }

  private func perform(_ action: SyncMachine.Action) async {
    switch action {
    case .send(let limit):
      sending = Task { await self.handle(await self.exchange(changeSetLimit: limit)) }
    case .identify:
      sending = Task { await self.handle(await self.identify()) }
    case .quarantineOldest:
      guard let request = tooLarge else { return }
      tooLarge = nil
      let problem = Problem(.bodyTooLarge).document
      let isMoved = try? await store.writer.perform { try $0.quarantineOldest(of: request, problem: problem) }
      if isMoved == true { summary.quarantined += 1 }
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
    case .finish(let failure): finish(failure)
    }
  }

  private func finish(_ failure: SyncMachine.Failure?) {
    let result: Result<SyncSummary, any Error>
    switch failure {
    case nil:
      publish(.idle)
      result = .success(summary)
    case .later(let reason, _):
      publish(.offline(reason: reason))
      result = .failure(StoreError(.offline, reason))
    case .expired, .diverged, .tooLarge:
      publish(.signedOut)
      result = .failure(
        StoreError(.signedOut, "Nobody is signed in. Sign in to sync; nothing on this device is lost."))
    }
    for waiter in waiters { waiter.resume(with: result) }
    waiters = []
    summary = SyncSummary()
    total = 0
  }

  // MARK: One round trip

  private func exchange(changeSetLimit: Int) async -> SyncMachine.Event {
    do {
      guard
        let request = try await store.writer.perform({ try $0.prepareRequest(changeSetLimit: changeSetLimit) }
        )
      else {
        return .signedOut
      }
      if request.waiting > 0 {
        total = max(total, summary.sent + request.waiting)
        publish(.uploading(done: summary.sent, total: total))
      }
      let answer = try await transport.send(
        TransportRequest(method: "POST", path: "v1/sync", token: request.token, body: request.body))
      guard answer.status == 200 else {
        let failure = failure(of: answer, request)
        switch failure {
        case .expired, .diverged:
          // What is said to an identity that was replaced meanwhile does not concern the one of now.
          if try await !store.writer.perform({ try $0.isCurrent(request) }) { throw Inapplicable.outdated }
          if failure == .expired { refusedToken = request.token }
        case .tooLarge: tooLarge = request
        case .later: break
        }
        return .failed(failure)
      }
      return try await apply(answer.body, to: request)
    } catch Inapplicable.outdated {
      return .answered(hasMore: true)
    } catch Inapplicable.diverged {
      return .failed(.diverged)
    } catch {
      return .failed(.later(reason: describe(error), retryAfter: nil))
    }
  }

  private func apply(_ body: [UInt8], to request: PreparedRequest) async throws -> SyncMachine.Event {
    let answer = try SyncAnswer(body: body)
    let applied = try await store.writer.perform { try $0.apply(answer, body: body, to: request) }
    summary.sent += request.operations
    summary.received += applied.changes
    summary.quarantined += applied.quarantined
    // What comes back of an upload is no download to wait for.
    if applied.remaining > 0 || (request.operations == 0 && applied.changes > 0) {
      publish(.downloading(done: summary.received, total: summary.received + applied.remaining))
    }
    return .answered(hasMore: applied.hasMore)
  }

  private func failure(of answer: TransportAnswer, _ request: PreparedRequest) -> SyncMachine.Failure {
    let problem = Problem(document: answer.body)
    switch answer.status {
    case 401: return .expired
    case 409 where problem?.code == .deviceDiverged: return .diverged
    case 413 where request.changeSets > 0: return .tooLarge
    default:
      return .later(
        reason: problem?.description ?? "The server answered with status \(answer.status).",
        retryAfter: answer.retryAfter)
    }
  }

  private func describe(_ error: any Error) -> String {
    (error as? StoreError)?.description ?? (error as? URLError)?.localizedDescription ?? "\(error)"
  }

  private func identify() async -> SyncMachine.Event {
    do {
      let token = try await store.writer.perform { try $0.state().token }
      let body = JSONValue.object([.init("name", .string("copy"))]).bytes
      let answer = try await transport.send(
        TransportRequest(method: "POST", path: "v1/devices", token: token, body: body))
      if answer.status == 401 {
        if try await store.writer.perform({ try $0.state().token }) != token { throw Inapplicable.outdated }
        refusedToken = token
        return .failed(.expired)
      }
      guard answer.status == 201, let session = Session(body: answer.body) else {
        return .failed(
          .later(reason: "The server gave no new identity (\(answer.status)).", retryAfter: answer.retryAfter)
        )
      }
      try await store.writer.perform { try $0.adopt(session) }
      return .identified
    } catch Inapplicable.outdated {
      return .identified
    } catch {
      return .failed(.later(reason: describe(error), retryAfter: nil))
    }
  }
}
