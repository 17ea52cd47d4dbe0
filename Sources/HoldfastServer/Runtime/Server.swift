import HoldfastCore
import HoldfastHTTP
import HoldfastSQLiteStore
import HoldfastService
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A sync server: the service behind HTTP, with its threads.
///
/// HTTP threads parse, read and encode; long reads, writes and password hashing have threads of their own. Start it with `init`, end it with
/// `stop()`, or let `run()` do both.
public final class Server: Sendable {
  /// The port that the server listens on, also when the system was asked to choose.
  public var port: UInt16 { http.port }
  /// The address of the server as a URL.
  public let url: String

  private let http: HTTPServer
  private let dispatcher: RequestDispatcher
  private let lock: DataDirectoryLock?
  private let database: any ServerDatabase
  private let isStopped = Atomic<Bool>(false)
  private let tls: TLSFiles?
  private let log: RequestLog
  /// What was read of its files last.
  private let tlsContents: Mutex<TLSFiles.Contents?>

  /// Opens the database and starts to serve: when this returns, the server listens.
  ///
  /// - Parameter configuration: what to serve, and where.
  /// - Throws: `ServerError` when the data directory or the schema can't be used, `HTTPServerError` when the address
  ///   can't, `SQLiteError` when the database can't be read.
  public init(_ configuration: Configuration) throws {
    // Before the database becomes one of this schema.
    if let schema = configuration.schema { try configuration.rules.check(against: schema) }
    let environment = configuration.environment
    let log = RequestLog(configuration.log, now: environment.now)
    self.log = log
    (database, lock) = try configuration.database.serve(
      schema: configuration.schema, removals: configuration.removals,
      DatabaseService(environment: environment, mustExist: configuration.mustExist) {
        log.event("history", level: "warning", $0)
      })
    tls = configuration.tls
    let contents = try configuration.tls?.read()
    tlsContents = Mutex(contents)
    let certificate = try contents?.pair
    let dispatcher = try RequestDispatcher(database, configuration, log)
    self.dispatcher = dispatcher
    var limits = configuration.limits
    // Many people come by a proxy; who is on this machine has other means.
    limits.uncountedAddresses +=
      configuration.trustedProxies.ranges + ["127.0.0.0/8", "::1"].compactMap { IPAddress.Range($0) }
    do {
      http = try HTTPServer(
        address: configuration.address, port: configuration.port, threads: configuration.threads,
        limits: limits, certificate: certificate, failure: { dispatcher.failure($0) },
        log: { log.event("http", level: "warning", $0) }, admission: { dispatcher.admit($0, $1) },
        handler: { dispatcher.handle($0, $1) })
    } catch {
      dispatcher.stop()
      throw error
    }
    let host = configuration.address.contains(":") ? "[\(configuration.address)]" : configuration.address
    url = "\(certificate == nil ? "http" : "https")://\(host):\(http.port)"
    log.event("listening", url)
  }

  deinit { stop() }

  /// Stops: readiness turns to 503, no connection is taken any more, requests in flight are finished, the write-ahead log
  /// is taken into the database. Returns when all is done; a second call does nothing.
  ///
  /// - Parameter grace: how long requests in flight may take; 10 seconds unless given.
  public func stop(grace: Duration = .seconds(10)) {
    guard !isStopped.exchange(true, ordering: .acquiringAndReleasing) else { return }
    dispatcher.announceStop()
    http.stop(grace: grace)
    dispatcher.stop()
    lock?.release()
  }

  /// Reads the certificate and its key again, for the clients that connect from now on. A pair that can't be used is logged, and the one before
  /// stays. Without TLS, and where nothing has changed, it does nothing.
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
    } catch { log.event("certificate", level: "error", "The certificate of before stays: \(error)") }
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
    // Some are the database's: a crowd of connections must not keep it from being opened.
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
      // SIGHUP, or time to look.
      default: reloadCertificate()
      }
    }
  }

  /// Keeps SIGTERM, SIGINT and SIGHUP from ending the process at once, in this thread and in those that it starts.
  public static func blockStopSignals() {
    blockSignals(stopSignals)
  }

  private static let stopSignals = [SIGTERM, SIGINT, SIGHUP]

  /// Takes what the system grants of open files, one for each connection, and lets a file that grows beyond its limit
  /// be an error of that write, not the end of the process.
  ///
  /// - Returns: how many files may be open.
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
