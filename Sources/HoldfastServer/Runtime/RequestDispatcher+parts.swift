import HoldfastConcurrency
import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// Creates the parts of a dispatcher.
extension RequestDispatcher {
  static func api(
    _ database: any ServerDatabase, _ clock: ServiceClock, _ configuration: Configuration,
    _ directory: Directory?, _ failed: @escaping @Sendable (String) -> Void
  ) throws -> API {
    API(
      database, clock: clock, environment: configuration.environment,
      snapshots: try snapshots(database, configuration, failed),
      crossOrigin: CrossOrigin(allowed: configuration.allowedOrigins),
      web: WebFiles(folder: configuration.webFolder, origins: configuration.webOrigins),
      guessLimit: configuration.guessLimit,
      provider: configuration.identityProvider.map { IdentityProvider($0, log: failed) },
      directory: directory, allowsSignUp: configuration.allowsSignUp, log: failed)
  }

  /// The thread that follows the directory; nil without one.
  static func directoryThread(
    _ api: API, _ writer: Worker<Write>, _ purging: RetentionThread,
    _ failed: @escaping @Sendable (String) -> Void
  ) throws -> DirectoryThread? {
    guard let directory = api.directory else { return nil }
    let round = DirectoryRound(
      directory: directory, database: api.database, now: { api.clock.trusted.now() })
    return try DirectoryThread(
      round, write: { write($0, to: writer) }, erased: { purging.wake() }, log: failed)
  }

  /// The console; nil unless it is asked for.
  static func console(
    _ api: API, _ configuration: Configuration, _ log: RequestLog, _ lines: LogRing?
  ) -> Console? {
    guard let console = configuration.console, let lines else { return nil }
    let node = configuration.nodeName ?? "\(AuditAuthor.machine):\(configuration.port)"
    return Console(
      console, api, lines, retention: configuration.retention, location: configuration.database, node: node
    ) { log.event("console", level: .warning, $0) }
  }

  /// A thread that runs one work item after another.
  static func worker(_ limit: Int) throws -> Worker<Work> {
    try Worker(limit: limit, batch: 1) { works, _ in
      for work in works { work.finish(work.run()) }
      return 0
    }
  }

  /// The threads for long reads.
  static func longReading(_ configuration: Configuration) throws -> Worker<Work> {
    let limit = configuration.readTimeLimit
    return try Worker(limit: configuration.readQueueLimit, batch: 1, threads: longReads, running: 1) {
      works, _ in
      for work in works { work.finish(ReadLimit.$current.withValue(.long(limit)) { work.run() }) }
      return 0
    }
  }

  /// Threads that run actions, at most `running` of one client at a time.
  static func actions(
    _ limit: Int, threads: Int, running: Int = 1
  ) throws -> Worker<@Sendable () -> Void> {
    try Worker(limit: limit, batch: 1, threads: threads, running: running) { works, _ in
      for work in works { work() }
      return 0
    }
  }

  /// The threads that look devices up; nil where reading does not wait.
  static func lookUps(_ database: any ServerDatabase, _ configuration: Configuration) throws -> Worker<
    Looking
  >? {
    guard let readers = database.readerCount else { return nil }
    let (threads, batch) = ((readers + 1) / 2, 32)
    // A user leaves a thread to others, where there is more than one.
    return try Worker(
      limit: configuration.readQueueLimit, batch: batch, threads: threads,
      running: max(threads - 1, 1) * batch
    ) { work, _ in
      database.together(work.map(\.lookUp)) { for looking in work { looking.run() } }
      return 0
    }
  }

  /// Logs each new epoch, and ends the event streams.
  static func observe(
    _ known: KnownHistory, _ events: EventStreams, isAlone: Bool, _ log: RequestLog
  ) {
    known.observe { [weak events] history in
      log.event(
        "history", level: .warning,
        "A new epoch has begun, \(history.epoch), as \(history.reason). Devices recover what the database lacks."
      )
      // Other servers are notified through the database.
      if isAlone {
        events?.receive(.interrupted)
        events?.receive(.resumed)
      }
    }
  }

  /// The snapshots. Nil if no folder is configured and no temporary one can be created; devices then download page by page.
  static func snapshots(
    _ database: any ServerDatabase, _ configuration: Configuration, _ failed: (String) -> Void
  ) throws -> Snapshots? {
    let folder = configuration.snapshotFolder ?? configuration.database.snapshotFolder
    do {
      return try Snapshots(
        database, folder: folder, limit: configuration.snapshotLimit,
        random: configuration.environment.random)
    } catch {
      if folder != nil { throw error }
      failed("There are no snapshots: \(error)")
      return nil
    }
  }

  static func service(
    _ store: any StoreWriter, _ lane: Service.Lane, _ schema: SyncSchema, _ clock: ServiceClock,
    _ configuration: Configuration, _ failed: @escaping @Sendable (String) -> Void
  ) -> Service {
    Service(
      store, schema, lane, rules: configuration.rules, clock: clock, environment: configuration.environment,
      log: failed)
  }

  /// Listens for the changes of other servers and programs; nil if the database has none.
  static func listen(
    _ database: any ServerDatabase, _ events: EventStreams, _ webhook: Webhook?
  ) throws -> (any NotificationListener)? {
    try database.listen(mayLead: webhook != nil) { notification in
      events.receive(notification)
      switch notification {
      case .changes(let changes): webhook?.moved(changes)
      case .leads: webhook?.lead(true)
      case .interrupted: webhook?.lead(false)
      case .resumed: break
      }
    }
  }
}
