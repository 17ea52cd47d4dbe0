import HoldfastPostgresStore
public import HoldfastCore
public import HoldfastHTTP
public import HoldfastService

/// The configuration of a server.
public struct Configuration: Sendable {
  /// The schema to serve; nil uses the one stored in the database.
  public var schema: SyncSchema?
  /// The treatment of tables and columns of the database that `schema` lacks; default `refuse`.
  public var removals: Removals
  /// The location of the database. A missing data directory is created.
  public var database: DatabaseLocation
  /// Whether a missing database is an error instead of being created; default false.
  public var mustExist = false
  /// The IP address to listen on; default 127.0.0.1.
  public var address: String
  /// The port to listen on. The default 0 selects a free one.
  public var port: UInt16
  /// The number of HTTP threads; nil for one per processor.
  public var threads: Int?
  /// Limits per client. Connections from this machine and from `trustedProxies` are exempt from the limit per address.
  public var limits: HTTPLimits
  /// The maximum number of queued writes; default 4,096.
  public var writeQueueLimit: Int
  /// The maximum number of queued reads; with SQLite, of queued long reads. Default 4,096.
  public var readQueueLimit: Int
  /// The time after which a read in SQLite fails; default 10 seconds.
  public private(set) var readTimeLimit: Duration
  /// The maximum number of queued password checks; default 64.
  public var passwordQueueLimit: Int
  /// The longest silence on an event stream; default 25 seconds, at least 0.1 seconds.
  public var heartbeat: Duration
  /// The maximum number of event streams; default 16,000. The server lowers it to 4/5 of `limits.maximumConnections`, so that requests find
  /// connections.
  public var eventStreamLimit: Int
  /// The folder of snapshots, used by this database only. The default nil means `snapshots` in the data directory, or a temporary folder
  /// with PostgreSQL.
  public var snapshotFolder: String?
  /// The maximum size of all snapshots in bytes; default 4 GiB.
  public var snapshotLimit: Int64
  /// The webhook that is notified of changed zones; default nil.
  public var webhook: WebhookConfiguration?
  /// Where `GET /metrics` is served, without authentication; nil, the default, for nowhere. docs/METRICS.md.
  public var metrics: MetricsAddress?
  /// The operators' console at `/console/`; nil, the default, for none. docs/CONSOLE.md.
  public var console: ConsoleConfiguration?
  /// The name of this node in the console's charts and audit log; nil, the default, for the name of the machine and the port.
  public var nodeName: String?
  /// How long tombstones and expired data are kept.
  public var retention: Retention
  /// Origins such as `https://app.example.org` whose pages may call the server from a browser, or `*` for all; default none.
  public var allowedOrigins: TextSet
  /// The folder of a web app, which is served at all paths that the protocol does not have; nil, the default, for none.
  public var webFolder: String?
  /// Origins of other servers, such as `https://b.example.org`, to which pages of the web app may connect; default none.
  public var webOrigins: TextSet = []
  /// Files that must not be in the folder of the web app, besides the database, the snapshots and the certificate's key.
  package var secretFiles: [String] = []
  /// The number of wrong passwords for an account from one address before both have to wait; default 10. docs/IDENTITY.md, section 4.
  public var guessLimit: Int
  /// The identity provider whose JWTs are accepted; default nil.
  public var identityProvider: IdentityProviderConfiguration?
  /// The directory of which the database is one; nil, the default, for none. docs/DIRECTORY.md.
  public var directory: DirectoryConfiguration?
  /// Whether anyone may create an account with a password. The default nil means yes, unless there is an identity provider.
  public var allowsSignUp: Bool?
  /// The proxies whose X-Forwarded-For is trusted; default none.
  public var trustedProxies: TrustedProxies
  /// The certificate of the server; the default nil means plain HTTP.
  public var tls: TLSFiles?
  /// Receives each line of the log, without its line break. It is called on any thread and must not block. The default writes to standard
  /// error through a queue of 1 MiB; lines beyond it are dropped and counted.
  public var log: @Sendable (String) -> Void
  /// The team's resolvers and validators; default none.
  public var rules: Rules
  /// Lines of the log below this level are not written; `info` unless given.
  public var logLevel = LogLevel.info
  /// Requests and SQL statements that take this long are logged as slow, statements with their plan; nil for none. Default 1 second.
  public var slowLimit: Duration? = .seconds(1)
  /// Clock, randomness and passwords.
  public var environment: ServerEnvironment

  /// Creates a configuration. Everything but the database has a default.
  public init(
    schema: SyncSchema? = nil, database: DatabaseLocation, address: String = "127.0.0.1", port: UInt16 = 0,
    environment: ServerEnvironment = .system, log: (@Sendable (String) -> Void)? = nil
  ) {
    self.schema = schema
    removals = .refuse
    self.database = database
    self.address = address
    self.port = port
    self.environment = environment
    self.log = log ?? { LogQueue.standardError.write($0) }
    limits = HTTPLimits(
      maximumBodyBytes: 16 << 20, maximumHeaderBytes: 16 << 10, maximumConnections: 20000,
      maximumConnectionsPerAddress: 1000, requestDeadline: .seconds(30), idleTimeout: .seconds(60))
    writeQueueLimit = 4096
    readQueueLimit = 4096
    readTimeLimit = .seconds(10)
    passwordQueueLimit = 64
    heartbeat = .seconds(25)
    eventStreamLimit = 16000
    allowedOrigins = []
    retention = Retention()
    rules = Rules()
    trustedProxies = TrustedProxies()
    guessLimit = Guesses.defaultLimit
    snapshotLimit = 4 << 30
  }
  /// Sets `readTimeLimit`, for PostgreSQL too.
  public mutating func limitReading(to time: Duration) {
    readTimeLimit = time
    guard case .postgres(var location) = database else { return }
    location.readTimeLimit = time
    database = .postgres(location)
  }

  /// Checks all that can keep a server from starting and needs no database.
  ///
  /// - Returns: the contents of the certificate's files; nil without TLS.
  /// - Throws: `ServerError`, `HTTPServerError`.
  func checkSurroundings() throws -> TLSFiles.Contents? {
    if let schema { try rules.check(against: schema) }
    try checkWebFolder()
    try checkMetrics()
    // The folder of a data directory is made with it.
    let standing = database.snapshotFolder.flatMap { RealPath($0) == nil ? nil : $0 }
    if let folder = snapshotFolder ?? standing { try SnapshotCache.check(folder) }
    let contents = try tls?.read()
    _ = try contents?.pair
    return contents
  }

  /// Checks that the metrics are not served where the protocol is.
  ///
  /// - Throws: `ServerError.refused`.
  private func checkMetrics() throws(ServerError) {
    guard let metrics, metrics.port == port, port != 0, let own = IPAddress(address),
      let other = IPAddress(metrics.host), Self.covers(own, other) || Self.covers(other, own)
    else { return }
    throw ServerError(
      .refused,
      "The server and its metrics can't both listen on port \(port) of \(address). Name another port with --metrics."
    )
  }

  /// Whether a socket of an address takes the connections to another one, too.
  private static func covers(_ address: IPAddress, _ other: IPAddress) -> Bool {
    let all = IPAddress.Range("0.0.0.0/0")
    return address == other || address == IPAddress("::")
      || address == IPAddress("0.0.0.0") && all?.contains(other) == true
  }

  /// Checks that the folder of the web app has nothing that others must not read.
  ///
  /// - Throws: `ServerError.refused`.
  private func checkWebFolder() throws(ServerError) {
    guard let webFolder, let folder = RealPath(webFolder) else { return }
    var paths = secretFiles + [snapshotFolder, tls?.key].compactMap(\.self)
    if case .directory(let path) = database { paths.append(path) }
    for path in paths where RealPath.future(path)?.isIn(folder) == true {
      throw ServerError(
        .refused,
        "\(path) is in the folder of the web app, \(webFolder), which everybody can read. Move it out.")
    }
  }
}
