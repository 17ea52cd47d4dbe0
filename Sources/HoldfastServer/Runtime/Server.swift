import HoldfastCore
import HoldfastHTTP
import HoldfastSQLiteStore
import HoldfastService
import HoldfastSystem
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A sync server: the service behind HTTP, with its threads.
///
/// HTTP threads parse, read and encode. Long reads, writes and password hashing have their own threads. Start the server with `init` and
/// stop it with `stop()`, or let `run()` do both.
public final class Server: Sendable {
  /// The port that the server listens on, including one that the system selected.
  public var port: UInt16 { http.port }
  /// The address of the server as a URL.
  public let url: String

  /// The port of `GET /metrics`; nil where it is not served.
  public var metricsPort: UInt16? { metrics?.port }

  private let http: HTTPServer
  private let metrics: MetricsServer?
  let dispatcher: RequestDispatcher
  private let lock: DataDirectoryLock?
  private let database: any ServerDatabase
  private let isStopped = Atomic<Bool>(false)
  private let tls: TLSFiles?
  private let log: RequestLog
  /// The last contents of the certificate files.
  private let tlsContents: Locked<TLSFiles.Contents?>

  /// Opens the database and starts to listen.
  ///
  /// - Parameter configuration: the database, the address and all other settings.
  /// - Throws: `ServerError` if the data directory or the schema is unusable, `HTTPServerError` if the address is, `SQLiteError` if the
  ///   database is unreadable.
  public init(_ configuration: Configuration) throws {
    // Whatever else keeps the server from starting does so before the schema is applied to the database.
    let contents = try configuration.checkSurroundings()
    if let folder = configuration.snapshotFolder { try SnapshotCache.make(folder) }
    let listener = try HTTPListener(address: configuration.address, port: configuration.port)
    let metricsListener = try configuration.metrics.map { address throws(HTTPServerError) in
      try HTTPListener(address: address.host, port: address.port)
    }
    let environment = configuration.environment
    let lines = configuration.console.map { _ in LogRing() }
    let log = RequestLog(
      { [write = configuration.log] line in
        lines?.add(line)
        write(line)
      }, from: configuration.logLevel, slow: configuration.slowLimit, now: environment.now)
    self.log = log
    (database, lock) = try configuration.database.serve(
      schema: configuration.schema, removals: configuration.removals,
      DatabaseService(
        environment: environment, mustExist: configuration.mustExist,
        slow: configuration.slowLimit.map { SlowStatements(over: $0) { log.slow($0) } },
        isEnding: { isPending(Self.endSignals) }
      ) {
        log.event("history", level: .warning, $0)
      })
    tls = configuration.tls
    tlsContents = Locked(contents)
    let certificate = try contents?.pair
    let dispatcher = try RequestDispatcher(database, configuration, log, lines)
    self.dispatcher = dispatcher
    var limits = configuration.limits
    // Many users share the address of a proxy. A local process needs no connection limit, as it has other ways to do harm.
    limits.uncountedAddresses +=
      configuration.trustedProxies.ranges + ["127.0.0.0/8", "::1"].compactMap { IPAddress.Range($0) }
    do {
      http = try HTTPServer(
        on: listener, threads: configuration.threads, limits: limits, certificate: certificate,
        failure: { dispatcher.failure($0) },
        log: { log.event("http", level: .warning, $0) }, admission: { dispatcher.admit($0, $1) },
        handler: { dispatcher.handle($0, $1) })
      metrics = try metricsListener.map { [http] listener throws(HTTPServerError) in
        try MetricsServer(on: listener, log: { log.event("http", level: .warning, $0) }) {
          dispatcher.metricsText(connections: http.connections, codings: http.waitingCodings)
        }
      }
    } catch {
      dispatcher.stop()
      throw error
    }
    let host = configuration.address.contains(":") ? "[\(configuration.address)]" : configuration.address
    url = "\(certificate == nil ? "http" : "https")://\(host):\(http.port)"
    log.event("start", Self.description(of: database))
    log.event("listening", url)
  }

  deinit { stop() }

  /// Stops the server and returns when it has stopped. Readiness turns to 503, new connections are refused, requests in flight finish, and
  /// the write-ahead log is checkpointed. A second call does nothing.
  ///
  /// - Parameter grace: the time limit for requests in flight; default 10 seconds.
  public func stop(grace: Duration = .seconds(10)) {
    guard !isStopped.exchange(true, ordering: .acquiringAndReleasing) else { return }
    log.event("stopping", "Requests in flight are finished, for at most \(grace).")
    dispatcher.announceStop()
    http.stop(grace: grace)
    metrics?.stop()
    dispatcher.stop()
    lock?.release()
    log.event("stopped")
  }

  /// The release, the schema and the epoch, for the log.
  private static func description(of database: any ServerDatabase) -> String {
    let schema = database.schema
    let tables = schema.tables.count { !$0.isBuiltIn }
    let version = schema.version > 0 ? " version \(schema.version)" : ""
    return
      "holdfast \(Release.version), schema \(schema.name)\(version) with \(tables) tables, epoch \(database.epoch)"
  }

  /// Reads the certificate and its key again, and presents them to new connections. An unusable pair is logged, and the current one stays
  /// in use. Does nothing without TLS, or if the files have not changed.
  public func reloadCertificate() {
    guard let tls else { return }
    do {
      let contents = try tls.read()
      let isNew = tlsContents.withLock { known in
        defer { known = contents }
        return known != contents
      }
      guard isNew else { return }
      http.present(try contents.pair)
      log.event("certificate", "The certificate was read again.")
    } catch { log.event("certificate", level: .error, "The certificate of before stays: \(error)") }
  }

  /// Runs until the process is told to end by SIGTERM or SIGINT, then stops cleanly. With TLS the certificate is read again at SIGHUP, and when
  /// its files change: they are looked at every five seconds.
  ///
  /// The signals must be blocked before any thread is started: call `blockStopSignals()` first.
  /// - Parameters:
  ///   - configuration: what is served, and where.
  ///   - started: called with the server when it listens.
  public static func run(_ configuration: Configuration, started: (Server) -> Void = { _ in }) throws {
    blockStopSignals()
    defer { LogQueue.standardError.flush(within: .seconds(2)) }
    var configuration = configuration
    // Some files are reserved for the database, so that many connections can't keep it from being opened.
    let connections = max(prepareProcess() - 128, 16)
    configuration.limits.maximumConnections = min(configuration.limits.maximumConnections, connections)
    let server = try Server(configuration)
    started(server)
    server.waitForStopSignal()
    server.stop()
  }

  private func waitForStopSignal() {
    while true {
      switch nextSignal(of: Self.stopSignals, seconds: 5) {
      case SIGTERM, SIGINT: return
      // SIGHUP, or the five seconds have passed.
      default: reloadCertificate()
      }
    }
  }

  /// Blocks SIGTERM, SIGINT and SIGHUP in this thread and in threads that it starts.
  public static func blockStopSignals() {
    blockSignals(stopSignals)
  }

  private static let endSignals = [SIGTERM, SIGINT]
  private static let stopSignals = endSignals + [SIGHUP]

  /// Raises the limit of open files to its maximum, one for each connection. Ignores SIGXFSZ, so that a file beyond its size limit is a
  /// write error and does not kill the process.
  ///
  /// - Returns: the number of files that may be open.
  private static func prepareProcess() -> Int {
    signal(SIGXFSZ, SIG_IGN)
    var limit = rlimit()
    #if canImport(Glibc)
      let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
      let files = RLIMIT_NOFILE
    #endif
    guard getrlimit(files, &limit) == 0 else { return 1024 }
    let granted = limit.rlim_cur
    limit.rlim_cur = limit.rlim_max
    return Int(clamping: setrlimit(files, &limit) == 0 ? limit.rlim_max : granted)
  }
}
