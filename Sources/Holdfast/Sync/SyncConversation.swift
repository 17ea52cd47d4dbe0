import HoldfastCore

/// What the device says to the server and makes of its answers: the sync engine without threads, network and timers.
///
/// An event comes in, the database is read and written, and what must be done outside comes out. `SyncEngine` runs it on the
/// store's writing queue; a simulation runs it in its one thread.
///
/// @unchecked Sendable: used by the one who has the `LocalDatabase` that is passed in, and only while it has it.
package final class SyncConversation: @unchecked Sendable {
  /// What must be done outside, in order.
  package enum Effect: Sendable {
    /// Send a request; `hear` its answer with the question.
    case send(TransportRequest, Question)
    /// Give the event `timer` after so long; replaces the timer before.
    case schedule(Duration)
    case stopTimer
    /// Ask for a stream of events, instead of the one before; `hear` what comes of it with its number.
    case openStream(number: Int, token: String, lastEventID: String?)
    /// Let go of the stream; nothing of it is to be heard any more.
    case closeStream
    /// Call `streamTimer` after so long, with the number; replaces the one before.
    case scheduleStream(Duration, number: Int)
    /// Make a snapshot the content of the store's file; `installed` hears what came of it.
    case install(SnapshotInstalling, SnapshotQuestion)
    case publish(SyncState)
    /// Zones are in another database: who follows several looks for them there.
    case tellMoved
    /// Those who waited for a sync by hand are told.
    case finish([Int], Result<SyncSummary, StoreError>)
  }

  /// What was asked, to make sense of the answer.
  package enum Question: Sendable {
    case sync(PreparedRequest)
    /// For a stretch of a zone's snapshot.
    case snapshot(SnapshotQuestion)
    /// For a new identity, by the device of a token.
    case identity(token: String?)
    /// What the server is told of the push token.
    case pushToken(PushTokenQuestion)
  }

  private var machine: SyncMachine?
  private let random: @Sendable () -> UInt64
  /// What the server is told of the app.
  private let app: String?
  /// Whether streams of events can be had at all.
  let canStream: Bool
  var stream: EventStream
  var effects: [Effect] = []
  private var waiters: [Int] = []
  var summary = SyncSummary()
  var download = SnapshotDownload()
  var pushToken = PushTokenSending()
  private var requestSize = RequestSize()
  /// Those that the last answer wanted resynced, and that wait.
  private var waitingZones: [WaitingZone] = []
  /// Those that a restored server can't give yet.
  private var awaitingZones: [ZoneAwaitingRecovery] = []
  /// How many operations this sync has to send, as far as known.
  private var total = 0
  /// What stands in this device's own file, and no later try gets past.
  private var obstacle: StoreError?
  private static let obstacles: [StoreError.Code] = [
    .foreignObject, .fileReplaced, .databaseIsBroken, .databaseIsNewer,
  ]
  /// The token that the server refused; another one in the database is a new session.
  var refusedToken: String?
  /// The last request that the server could not take, and its problem document.
  private var unacceptable: (request: PreparedRequest, problem: [UInt8])?
  private var steps = 0

  /// - Parameters:
  ///   - canStream: whether the way to the server can carry a stream of events.
  ///   - snapshotsFrom: the number of changes from which on a new zone comes as a snapshot; nil for never.
  ///   - app: what the server is told of the app; nil for nothing.
  package init(
    canStream: Bool, snapshotsFrom: Int? = SnapshotDownload.threshold, app: String? = nil,
    random: @escaping @Sendable () -> UInt64
  ) {
    download.threshold = snapshotsFrom
    self.app = app
    self.canStream = canStream
    self.random = random
    stream = EventStream(machine: EventStreamMachine(random: random))
  }

  /// Takes a step and numbers it, from 0, so that effects heard of in another order are performed in this one.
  func numbered(_ step: (SyncConversation) -> [Effect]) -> (number: Int, effects: [Effect]) {
    defer { steps += 1 }
    return (steps, step(self))
  }

  /// Takes an event.
  ///
  /// - Parameter waiter: who waits for the end of the sync that the event asks for.
  package func handle(_ event: SyncMachine.Event, waiter: Int? = nil, in database: LocalDatabase) -> [Effect]
  {
    collect(database) {
      if let waiter { waiters.append(waiter) }
      run(event, database)
    }
  }

  /// Takes the server's answer, or why none came.
  package func receive(
    _ answer: Result<TransportAnswer, StoreError>, to question: Question, in database: LocalDatabase
  ) -> [Effect] {
    collect(database) {
      switch question {
      case .sync(let request): run(outcome(answer, request, database), database)
      case .snapshot(let question):
        if let event = snapshot(answer, question, database) { run(event, database) }
      case .identity(let token): run(identity(answer, token, database), database)
      case .pushToken(let question):
        if let failure = pushToken(answer, question, database) { return run(.failed(failure), database) }
        send(changeSetLimit: question.changeSetLimit, database)
      }
    }
  }

  func collect(_ database: LocalDatabase, _ body: () -> Void) -> [Effect] {
    prepareMachine(database)
    body()
    defer { effects = [] }
    return effects
  }

  private func prepareMachine(_ database: LocalDatabase) {
    guard machine == nil || machine?.state == .signedOut else { return }
    if machine == nil {
      let isSignedIn = (try? database.state().isSignedIn) == true
      machine = SyncMachine(isSignedIn: isSignedIn, random: random)
    } else if let token = try? database.sessionToken(), token != refusedToken {
      // Another process, or another engine of this one, has signed in.
      run(.signedIn, database)
    }
  }

  func run(_ event: SyncMachine.Event, _ database: LocalDatabase) {
    for action in machine?.handle(event) ?? [] { perform(action, database) }
    follow(event, isSignedIn: machine.map { $0.state != .signedOut } ?? false, database)
  }

  private func perform(_ action: SyncMachine.Action, _ database: LocalDatabase) {
    switch action {
    case .send(let limit): send(changeSetLimit: limit, database)
    case .download: askForSnapshot(database)
    case .identify: identify(database)
    case .quarantineOldest:
      guard let (request, problem) = unacceptable else { return }
      unacceptable = nil
      let isMoved = try? UnacceptableRequest(database: database).quarantineOldest(
        of: request, problem: problem)
      if isMoved == true { summary.quarantined += 1 }
    case .schedule(let wait): effects.append(.schedule(wait))
    case .stopTimer: effects.append(.stopTimer)
    case .finish(let failure): finish(failure)
    }
  }

  private func finish(_ failure: SyncMachine.Failure?) {
    let (state, result): (SyncState, Result<SyncSummary, StoreError>) =
      switch failure {
      case nil:
        (
          !awaitingZones.isEmpty
            ? .awaitingRecovery(awaitingZones) : waitingZones.isEmpty ? .idle : .waiting(waitingZones),
          .success(summary)
        )
      case .later(let reason, _), .unreachable(let reason):
        (.offline(reason: reason), .failure(obstacle ?? StoreError(.offline, reason)))
      case .expired, .diverged, .unacceptable:
        (
          .signedOut,
          .failure(
            StoreError(
              .signedOut, "Nobody is signed in. Sign in to sync; nothing on this device is lost."))
        )
      }
    effects.append(.publish(state))
    effects.append(.finish(waiters, result))
    waiters = []
    obstacle = nil
    summary = SyncSummary()
    total = 0
    pushToken.isTried = false
  }

  // MARK: One round trip

  private func send(changeSetLimit: Int, _ database: LocalDatabase) {
    do {
      if try sendPushToken(before: changeSetLimit, database) { return }
      guard
        let request = try RequestPreparation(database: database).prepare(
          changeSetLimit: changeSetLimit, sizeLimit: requestSize.limit, app: app,
          snapshotsFrom: database.snapshots == nil ? nil : download.ofAll)
      else {
        return run(.signedOut, database)
      }
      if request.waiting > 0 {
        total = max(total, summary.sent + request.waiting)
        effects.append(.publish(.uploading(done: summary.sent, total: total)))
      }
      let message = TransportRequest(
        method: "POST", path: "v1/sync", token: request.token, body: request.body)
      effects.append(.send(message, .sync(request)))
    } catch {
      run(retried(error, database), database)
    }
  }

  /// Goes on with a request after what stands in this device's own tables was mended; where nothing was wrong with it, later.
  private func retried(_ error: any Error, _ database: LocalDatabase) -> SyncMachine.Event {
    if (error as? StoreError)?.code != .offline, (try? Mending(database: database).mendNow()) == true {
      return .answered(hasMore: true, progress: .none)
    }
    return .failed(later(error))
  }

  private func outcome(
    _ answer: Result<TransportAnswer, StoreError>, _ request: PreparedRequest, _ database: LocalDatabase
  ) -> SyncMachine.Event {
    switch answer {
    case .failure: requestSize.lose(request.body.count)
    case .success(let answer) where answer.status == 408: requestSize.lose(request.body.count)
    case .success: requestSize.arrive(request.body.count)
    }
    do {
      let answer = try answer.get()
      if answer.status == 200 { return try apply(answer.body, to: request, database) }
      let failure = failure(of: answer, request)
      switch failure {
      case .expired, .diverged:
        // What is said to an identity that was replaced meanwhile does not concern the one of now.
        if try !RequestPreparation(database: database).isCurrent(request) { throw Inapplicable.outdated }
        if failure == .expired { refusedToken = request.token }
      case .unacceptable(let items, let isTooLarge, _):
        if items == 0, try Mending(database: database).mendNow() {
          return .answered(hasMore: true, progress: .none)
        }
        let problem = Problem(document: answer.body) == nil ? nil : answer.body
        unacceptable = (
          request, problem ?? Problem(isTooLarge ? .bodyTooLarge : .invalidRequest).document
        )
      case .later, .unreachable: break
      }
      return .failed(failure)
    } catch Inapplicable.outdated {
      Trace.took(.engineReplaced)
      return .answered(hasMore: true, progress: .none)
    } catch Inapplicable.diverged {
      return .failed(.diverged)
    } catch {
      return retried(error, database)
    }
  }

  private func apply(
    _ body: [UInt8], to request: PreparedRequest, _ database: LocalDatabase
  ) throws -> SyncMachine.Event {
    let applied = try AnswerApplying(
      database: database, answer: try SyncAnswer(body: body), body: body, request: request,
      prefersSnapshot: { [download] zone, changes in
        database.snapshots != nil && download.prefers(zone, changes: changes)
      }
    ).run()
    download.zone = applied.largeZone?.zone
    download.changes = applied.largeZone?.changes ?? 0
    summary.sent += request.operations
    summary.received += applied.changes
    summary.quarantined += applied.quarantined
    summary.moved += applied.moved
    if applied.moved > 0 { effects.append(.tellMoved) }
    // What comes back of an upload is no download to wait for.
    if applied.remaining > 0 || (request.operations == 0 && applied.changes > 0) {
      effects.append(
        .publish(.downloading(done: summary.received, total: summary.received + applied.remaining)))
    }
    awaitingZones = try AwaitingRecovery(database: database).awaitingZones()
    summary.awaitingRecovery = awaitingZones.count
    waitingZones = applied.resetWait == nil ? [] : try ResetPacing(database: database).waitingZones()
    summary.waitingZones = waitingZones.count
    return .answered(
      hasMore: applied.hasMore, hasLargeZone: applied.largeZone != nil, wait: applied.resetWait,
      items: request.items, progress: applied.progress)
  }

  private func failure(of answer: TransportAnswer, _ request: PreparedRequest) -> SyncMachine.Failure {
    let problem = Problem(document: answer.body)
    switch answer.status {
    case 401 where answer.endsSession: return .expired
    case 409 where problem?.code == .deviceDiverged: return .diverged
    default:
      // What has no problem of ours may come from a proxy, and says nothing of the body; but for its size.
      let isUnacceptable =
        answer.status == 413
        || [400, 422].contains(answer.status) && problem != nil && problem?.code != .protocolUnsupported
      return isUnacceptable
        ? .unacceptable(items: request.items, isTooLarge: answer.status == 413, reason: answer.reason)
        : .later(reason: answer.reason, retryAfter: answer.retryAfter)
    }
  }

  func later(_ error: any Error) -> SyncMachine.Failure {
    obstacle = (error as? StoreError).flatMap { Self.obstacles.contains($0.code) ? $0 : nil }
    guard let error = error as? StoreError else { return .later(reason: "\(error)", retryAfter: nil) }
    return error.code == .offline
      ? .unreachable(reason: error.description) : .later(reason: error.description, retryAfter: nil)
  }

  // MARK: A new identity for a copy

  private func identify(_ database: LocalDatabase) {
    do {
      let token = try database.sessionToken()
      let body = JSONValue.object([.init("name", .string("copy"))]).bytes
      let message = TransportRequest(method: "POST", path: "v1/devices", token: token, body: body)
      effects.append(.send(message, .identity(token: token)))
    } catch {
      run(.failed(later(error)), database)
    }
  }

  private func identity(
    _ answer: Result<TransportAnswer, StoreError>, _ token: String?, _ database: LocalDatabase
  ) -> SyncMachine.Event {
    do {
      let answer = try answer.get()
      // Whoever has changed the session meanwhile has settled what this one is.
      if try database.sessionToken() != token { return .identified }
      if answer.endsSession {
        refusedToken = token
        return .failed(.expired)
      }
      guard answer.status == 201, let session = Session(body: answer.body) else {
        let reason = "The server gave no new identity (\(answer.status))."
        return .failed(.later(reason: reason, retryAfter: answer.retryAfter))
      }
      try SessionStart(database: database).adopt(session)
      return .identified
    } catch {
      return .failed(later(error))
    }
  }
}
