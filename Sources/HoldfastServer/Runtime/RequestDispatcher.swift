import HoldfastConcurrency
import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// Runs the steps of the API on threads. Short steps run inline on the HTTP thread; writes, password checks and long reads have threads of
/// their own. Clients that have used up their time on the HTTP threads read on reading threads. If reads wait for a network (PostgreSQL), all
/// reads do.
///
/// Longer than 400 lines: every way of a request between the queues is here, and the queues are private.
final class RequestDispatcher: Sendable {
  struct Write: Sendable {
    let command: ServiceCommand
    let client: Client
    /// The trace of its request; nil if it is in none.
    var trace: TraceContext?
    let finish: @Sendable (Result<Outcome, Problem>) -> Void
  }

  struct Work: Sendable {
    let run: @Sendable () -> Step
    let finish: @Sendable (Step) -> Void
  }

  /// A request that reads what a device has.
  struct Looking: Sendable {
    let lookUp: LookUp
    let run: @Sendable () -> Void
  }

  /// @unchecked Sendable: a service is used only by its own thread of one worker, and by `stop` after that thread has ended.
  private struct ThreadsOwn: @unchecked Sendable { let service: Service }

  /// The number of long reads at the same time, at most one per client, if HTTP threads do the short ones.
  static let longReads = 2
  /// The size in bytes from which parsing a request's body counts as a long read.
  private static let largeBytes = 1 << 20

  let api: API
  private let database: any ServerDatabase
  let events: EventStreams
  private let listener: (any NotificationListener)?
  private let webhook: Webhook?
  private let purging: RetentionThread
  private let directory: DirectoryThread?
  private let log: RequestLog
  /// Nil unless they are served, or there is a console.
  let metrics: Metrics?
  let deviceFigures: KeptDeviceFigures
  /// Nil unless it is asked for.
  private let console: Console?
  private let sampler: ConsoleSampler?
  private let proxies: TrustedProxies
  private let services: [ThreadsOwn]
  let writer: Worker<Write>
  /// Nil if the database has no other writers.
  let waiting: SlowLane?
  private let readiness: ReadinessProbe
  let passwords: Worker<Work>
  /// Hashes the passwords of new accounts.
  let signUps: Worker<Work>
  /// Builds snapshots, one at a time.
  let builds: Worker<Work>
  /// Requests to other servers for clients without a session, one at a time.
  let fetches: Worker<@Sendable () -> Void>
  /// Requests to other servers for clients with a session, one at a time.
  let sessionFetches: Worker<@Sendable () -> Void>
  /// The reading threads.
  let reading: Worker<@Sendable () -> Void>
  /// The time that clients use of the HTTP threads; nil if these do not read.
  let threadTime: HTTPThreadTime?
  /// The threads that look devices up, many at once, where reading waits.
  private let lookUps: Worker<Looking>?
  /// The threads for long reads, which would block HTTP threads.
  let longReading: Worker<Work>
  /// The prefix of this run's request ids.
  private let run: String

  init(_ database: any ServerDatabase, _ configuration: Configuration, _ log: RequestLog, _ lines: LogRing?)
    throws
  {
    let failed: @Sendable (String) -> Void = { log.event("failure", level: .error, $0) }
    database.reportMismatches(failed)
    let known = try Directory.opened(database, configuration.database, configuration.directory, failed)
    var configuration = configuration
    configuration.environment.limits.mayHaveGuests = known != nil
    let environment = configuration.environment
    self.log = log
    let metrics = configuration.metrics == nil && configuration.console == nil ? nil : Metrics()
    self.metrics = metrics
    deviceFigures = KeptDeviceFigures { [life = configuration.retention.devices] in
      let lags = try ReadLimit.$current.withValue(.long(.seconds(5))) {
        try database.read { try $0.lag(of: nil) }
      }
      return DeviceFigures(lags, now: environment.now(), life: life)
    }
    proxies = configuration.trustedProxies
    self.database = database
    try configuration.rules.check(against: database.schema)
    let store = try database.store()
    let clock = try ServiceClock(of: store, environment)
    let api = try Self.api(database, clock, configuration, known, failed)
    self.api = api
    let console = Self.console(api, configuration, log, lines)
    self.console = console
    run = hexadecimal(environment.random(4))
    let events = try EventStreams(
      limit: min(configuration.eventStreamLimit, configuration.limits.maximumConnections / 5 * 4),
      heartbeat: max(configuration.heartbeat, .milliseconds(100)),
      run: hexadecimal(environment.random(8)), EventRoutes(api: api).source)
    self.events = events

    let webhook = configuration.webhook.map { Webhook($0) }
    self.webhook = webhook
    let announce: @Sendable (ZoneChanges, ArraySlice<Write>) -> Void = { changes, writes in
      events.moved(changes)
      webhook?.moved(changes, in: CommitTraces(writes.map { ($0.command.key?.number, $0.trace) }))
    }

    let service = { (store: any StoreWriter, lane: Service.Lane) in
      ThreadsOwn(service: Self.service(store, lane, database.schema, clock, configuration, failed))
    }
    let fast = service(store, .fast)
    let slow = try (0..<SlowLane.threads).compactMap { _ in
      try database.slowStore().map { service($0, .slow) }
    }
    services = [fast] + slow
    let waiting =
      try slow.isEmpty
      ? nil
      : SlowLane(limit: configuration.writeQueueLimit) { write, thread, turn, putOff in
        _ = Self.perform([write], on: slow[thread].service, turn, metrics, announce, nil, putOff: putOff)
      }
    threadTime = database.readerCount == nil ? HTTPThreadTime() : nil
    let readers = database.readerCount.map { max($0 / 2, 1) } ?? Self.longReads
    reading = try Self.actions(configuration.readQueueLimit, threads: readers, running: (readers + 1) / 2)
    lookUps = try Self.lookUps(database, configuration)
    let lookUps = lookUps
    writer = try Worker(limit: configuration.writeQueueLimit, batch: .max) { writes, _ in
      Self.perform(writes, on: fast.service, nil, metrics, announce, lookUps) { write in
        if waiting?.enqueue(write) != true { write.finish(.failure(Self.busy)) }
      }
    }
    self.waiting = waiting
    readiness = try ReadinessProbe(limit: configuration.readQueueLimit) { [writer] command, limit in
      Self.write(command, to: writer, limit)
    }
    passwords = try Self.worker(configuration.passwordQueueLimit)
    signUps = try Self.worker(configuration.passwordQueueLimit)
    builds = try Self.worker(Snapshots.queueLimit)
    fetches = try Self.actions(configuration.passwordQueueLimit, threads: 1)
    sessionFetches = try Self.actions(configuration.passwordQueueLimit, threads: 1)
    longReading = try Self.longReading(configuration)
    let writer = writer
    try webhook?.start(
      Webhook.Surroundings(
        unnotified: { place, limit in
          try database.read { try $0.unnotifiedZones(after: place, limit: limit) }
        },
        zones: { names in try database.read { try $0.zonesToNotify(names) } },
        devices: { audience, number, limit in
          try database.read { try $0.pushTargets(audience, after: number, limit: limit) }
        },
        write: { Self.write(.notified($0, gone: $1), to: writer) != nil }, environment: environment,
        log: failed))
    listener = try Self.listen(database, events, webhook)
    Self.observe(database.known, events, isAlone: listener == nil, log)
    // The only server of a database leads.
    if listener == nil { webhook?.lead(true) }
    purging = try RetentionThread(
      database, configuration.retention, api.snapshots, write: { Self.write($0, to: writer) },
      warn: { log.event("clock", level: .warning, $0) },
      passed: { metrics?.purged(now: Double(environment.now()) / 1000) }, log: failed)
    directory = try Self.directoryThread(api, writer, purging, failed)
    sampler = console.map {
      ConsoleSampler($0, write: { Self.write(.keepSamples($0), to: writer) != nil }, log: failed)
    }
    try sampler?.start { [unowned self] in consoleServer }
  }

  /// Applies a command of the server itself, and waits for it; nil if it fails.
  static func write(_ command: ServiceCommand, to writer: Worker<Write>) -> Outcome? {
    try? write(command, to: writer, nil)?.get()
  }

  /// Applies a command of the server itself, and waits for its result; nil if there is none within a limit.
  private static func write(
    _ command: ServiceCommand, to writer: Worker<Write>, _ limit: Duration?
  ) -> Result<Outcome, Problem>? {
    let outcome = Mailbox()
    let write = Write(command: command, client: .server, finish: { outcome.put($0) })
    if !writer.enqueue(write, of: .server) { return .failure(busy) }
    return outcome.take(until: limit.map { MonotonicTime.exact + $0 })
  }

  /// Passes a result from one thread to another.
  ///
  /// @unchecked Sendable: accessed only with the lock held.
  private final class Mailbox: @unchecked Sendable {
    private let lock = Lock()
    private var result: Result<Outcome, Problem>?

    func put(_ result: Result<Outcome, Problem>) {
      lock.hold {
        self.result = result
        lock.broadcast()
      }
    }

    /// Waits for the result; nil if there is none at the deadline.
    func take(until deadline: MonotonicTime?) -> Result<Outcome, Problem>? {
      lock.hold {
        while result == nil {
          guard let deadline else {
            lock.wait()
            continue
          }
          if deadline.remaining == 0 { break }
          lock.wait(until: deadline)
        }
        return result
      }
    }
  }

  static let busy = Problem(.busy, retryAfter: 1)

  /// Applies a batch of writes.
  ///
  /// - Parameters:
  ///   - turn: the turn in the slow lane; nil in the fast lane.
  ///   - lookUps: where the devices of the batch are looked up for their answers.
  ///   - putOff: receives the writes that the lane defers, because of a lock or serialization conflict.
  /// - Returns: the number of writes at the end that were not applied for lack of time.
  private static func perform(
    _ writes: [Write], on service: Service, _ turn: Service.Turn?, _ metrics: Metrics?,
    _ announce: (ZoneChanges, ArraySlice<Write>) -> Void, _ lookUps: Worker<Looking>?, putOff: (Write) -> Void
  ) -> Int {
    let start = ContinuousClock.now
    let results = service.apply(writes.map(\.command), turn ?? Service.Turn())
    metrics?.committed(
      service.takeTally(), commands: results.count, seconds: start.duration(to: .now).inSeconds,
      isSlow: turn != nil)
    announce(service.takeChanges(), writes.prefix(results.count))
    func finish() {
      for (write, result) in zip(writes, results) {
        if let result { write.finish(result) } else { putOff(write) }
      }
    }
    if let lookUps { lookUps.group(finish) } else { finish() }
    service.release()
    return writes.count - results.count
  }

  /// The log entry of a request, before its answer.
  private func entry(
    of request: HTTPRequest, began: ContinuousClock.Instant = .now
  ) -> RequestLog.Entry {
    let client = proxies.client(of: request)
    var request = request
    request.remoteAddress = client.address
    return RequestLog.Entry(
      id: "\(run)-\(request.id)", method: request.method, path: request.path, address: client.address,
      scheme: client.scheme, trace: TraceContext(request.headers), started: began,
      crossOrigin: console != nil && Console.takes(request)
        ? [] : api.crossOrigin.headers(of: request.headers),
      client: api.client(of: request))
  }

  /// The client of a request.
  private func client(of received: HTTPRequest) -> Client {
    var request = received
    request.remoteAddress = proxies.client(of: received).address
    return api.client(of: request)
  }

  /// Answers a request, now or later.
  func handle(_ received: HTTPRequest, _ responder: HTTPResponder) {
    let entry = entry(of: received)
    var changed = received
    changed.remoteAddress = entry.address
    let request = changed
    if let console, Console.takes(request) {
      return perform(console.handle(request) { [self] in consoleServer }, entry, responder)
    }
    if request.body.count > Self.largeBytes {
      return perform(.read { [self] in api.handle(request) }, entry, responder)
    }
    let brief: @Sendable () -> Void = { [self] in
      perform(ReadLimit.$current.withValue(.brief) { api.handle(request) }, entry, responder)
    }
    let answer: @Sendable () -> Void
    if let threadTime {
      if entry.isHealthCheck || threadTime.isLeft(for: entry.client) {
        return threadTime.run(for: entry.client, brief)
      }
      answer = brief
    } else {
      if api.isImmediate(request) { return brief() }
      answer = { [self] in perform(api.handle(request), entry, responder) }
    }
    if !reading.enqueue(answer, of: entry.client) { refuse(entry, responder) }
  }

  /// Decides by a request's head whether to read its body.
  func admit(_ head: HTTPRequest, _ admission: HTTPAdmission) {
    if let console, Console.takes(head) {
      return admission.admit(maximumBodyBytes: console.bodyLimit(of: head), payer: nil)
    }
    let known = Authentication(api: api)
    guard threadTime == nil, !known.isKnown(head) else {
      return decide(known.admission(of: head), head, admission)
    }
    let isTaken = reading.enqueue(
      { [self] in decide(known.admission(of: head), head, admission) }, of: client(of: head))
    if !isTaken { admission.refuse(refused(.problem(Problem(.busy, retryAfter: 1)), head)) }
  }

  private func decide(_ decision: Admission, _ head: HTTPRequest, _ admission: HTTPAdmission) {
    switch decision {
    case .admitted(let limit): admission.admit(maximumBodyBytes: limit, payer: client(of: head).user)
    case .refused(let response): admission.refuse(refused(response, head))
    case .fetch(let work):
      let isTaken = fetches.enqueue({ [self] in decide(work(), head, admission) }, of: client(of: head))
      if !isTaken { admission.refuse(refused(.problem(Problem(.busy, retryAfter: 1)), head)) }
    }
  }

  /// The answer to a request whose body is not read.
  private func refused(_ answer: HTTPResponse, _ head: HTTPRequest) -> HTTPResponse {
    finished(answer, entry(of: head))
  }

  /// The answer to a failure in the HTTP layer.
  func failure(_ failure: HTTPFailure) -> HTTPResponse {
    finished(.failure(failure), entry(of: failure.request, began: failure.began))
  }

  /// Makes `/readyz` answer 503, and lets the server's own work end: what begins now would keep `stop` waiting.
  func announceStop() {
    api.stop()
    purging.end()
    directory?.end()
    webhook?.end()
  }

  /// Finishes queued writes, stops the threads and closes the database. The requests are over: nobody waits for what is to be read, built or
  /// hashed any more.
  func stop() {
    // These threads enqueue writes, so they stop before the writer.
    purging.stop()
    directory?.stop()
    sampler?.stop()
    webhook?.stop()
    for worker in [passwords, signUps, builds, longReading] { worker.drop() }
    for worker in [fetches, sessionFetches, reading] { worker.drop() }
    lookUps?.drop()
    api.snapshots?.interrupt()
    database.interruptReads()
    passwords.stop()
    signUps.stop()
    fetches.stop()
    sessionFetches.stop()
    builds.stop()
    api.snapshots?.close()
    readiness.stop()
    writer.stop()
    waiting?.stop()
    console?.doctor.stop()
    longReading.stop()
    reading.stop()
    lookUps?.stop()
    listener?.stop()
    events.stop()
    api.directory?.close()
    database.close()
    for service in services { service.service.close() }
  }

  private func perform(_ step: Step, _ entry: RequestLog.Entry, _ responder: HTTPResponder) {
    let next: @Sendable (Step) -> Void = { [self] in perform($0, entry, responder) }
    switch step {
    case .answer(let response):
      responder.respond(finished(response, entry))
    case .write(.probe, let answer):
      let isTaken = readiness.enqueue(of: entry.client) { [self] result in
        responder.respond(finished(answer(result), entry))
      }
      if !isTaken { refuse(entry, responder) }
    case .write(let command, let answer):
      var entry = entry
      entry.device = command.key?.number
      let logged = entry
      let write = write(command, of: entry) { [self] result in
        if case .erase = command, case .success = result { purging.wake() }
        readiness.learn(from: result)
        let isDone = if case .success = result { !logged.isRead } else { false }
        let make: @Sendable () -> HTTPResponse = { [self] in finished(answer(result), logged, isDone: isDone)
        }
        if let threadTime, threadTime.isLeft(for: logged.client) {
          return _ = responder.respond { threadTime.run(for: logged.client, make) }
        }
        // The write is committed, so the answer bypasses the queue's limit.
        let respond: @Sendable () -> Void = { responder.respond(make()) }
        if let lookUps, case .sync(let command) = command, case .success(.synced(let outcome)) = result {
          lookUps.enqueueOwed(
            Looking(lookUp: LookUp(answering: command, outcome), run: respond), of: logged.client)
        } else {
          reading.enqueueOwed(respond, of: logged.client)
        }
      }
      if !writer.enqueue(write, of: write.client) { refuse(entry, responder) }
    case .events(let device, let lastEventID):
      var entry = entry
      entry.device = device.number
      if events.open(
        device, most: api.environment.limits.eventStreams, lastEventID: lastEventID, entry.crossOrigin,
        responder)
      {
        answered(entry, RequestLog.Result(status: 200))
      } else {
        responder.respond(
          finished(.problem(Problem(.busy, "No more streams can be opened now.", retryAfter: 10)), entry))
      }
    case .password(let work):
      if !passwords.enqueue(Work(run: work, finish: next), of: entry.client.site) { refuse(entry, responder) }
    case .signUp(let work):
      if !signUps.enqueue(Work(run: work, finish: next), of: entry.client.site) { refuse(entry, responder) }
    case .fetch(let asker, let work):
      let job: @Sendable () -> Void = { [self] in perform(work(), entry, responder) }
      let isTaken =
        switch asker {
        case .stranger: fetches.enqueue(job, of: entry.client.site)
        case .session: sessionFetches.enqueue(job, of: entry.client)
        case .begun: sessionFetches.enqueueBegun(job, of: entry.client)
        }
      if !isTaken { refuse(entry, responder) }
    case .first(let command, let next):
      let write = write(command, of: entry) { [self] in perform(next($0), entry, responder) }
      if !writer.enqueue(write, of: write.client) { refuse(entry, responder) }
    case .look(let lookUp, let work):
      guard let lookUps else { return perform(work(), entry, responder) }
      let looking = Looking(lookUp: lookUp) { [self] in perform(work(), entry, responder) }
      if !lookUps.enqueue(looking, of: entry.client) { refuse(entry, responder) }
    case .read(let work):
      if !longReading.enqueue(Work(run: work, finish: next), of: entry.client) { refuse(entry, responder) }
    case .build(let work):
      if !builds.enqueue(Work(run: work, finish: next), of: entry.client) { refuse(entry, responder) }
    }
  }

  /// A write that may take several transactions. Each transaction queues behind other writes.
  private func write(
    _ command: ServiceCommand, of entry: RequestLog.Entry,
    _ finish: @escaping @Sendable (Result<Outcome, Problem>) -> Void
  ) -> Write {
    Write(command: command, client: entry.client, trace: entry.trace) { [self] result in
      guard case .success(.unfinished(let progress)) = result else { return finish(result) }
      let rest = write(command.goingOn(from: progress), of: entry, finish)
      if !writer.enqueueBegun(rest, of: entry.client) { finish(.failure(Self.busy)) }
    }
  }

  private func refuse(_ entry: RequestLog.Entry, _ responder: HTTPResponder) {
    responder.respond(finished(.problem(Problem(.busy, retryAfter: 1)), entry))
  }

  /// An answer with the fields of all answers.
  ///
  /// - Parameter isDone: whether the request has had its effect.
  private func finished(
    _ response: HTTPResponse, _ entry: RequestLog.Entry, isDone: Bool = false
  ) -> HTTPResponse {
    var response = response
    response.headers.append(("X-Request-ID", entry.id))
    response.headers += entry.crossOrigin
    response.payers = entry.payers
    response.hasTakenEffect = isDone
    response.report = { [self, meant = RequestLog.Result(response)] sent in
      answered(entry, sent.map { RequestLog.Result($0) } ?? meant.cut)
    }
    return response
  }

  /// Logs and counts an answer that is sent.
  private func answered(_ entry: RequestLog.Entry, _ result: RequestLog.Result) {
    let isRefused = result.status >= 400
    guard metrics != nil || isRefused else { return log.request(entry, result) }
    let route = Address.route(of: entry.path, in: api.schema)
    var logged = entry
    // Such a path may have anything in it, such as a user's name in the wrong place.
    if isRefused, route == Address.unknownRoute { logged.path = Address.ownPart(of: entry.path) }
    log.request(logged, result)
    metrics?.answered(
      .init(route: route, method: Metrics.method(entry.method), status: result.status),
      seconds: entry.started.duration(to: .now).inSeconds, problem: result.problem)
  }
}
