import HoldfastPostgresStore
public import HoldfastCore
public import HoldfastHTTP
public import HoldfastService

/// How a server is to run.
public struct Configuration: Sendable {
  /// The schema to serve; nil takes the one that is in the database.
  public var schema: SyncSchema?
  /// What becomes of tables and columns of the database that `schema` lacks; `refuse` unless given.
  public var removals: Removals
  /// Where the database is; a data directory is made when it is missing.
  public var database: DatabaseLocation
  /// Whether a database that is not there is an error, rather than made; false unless given.
  public var mustExist = false
  /// The IP address to listen on; 127.0.0.1 unless given.
  public var address: String
  /// The port; 0, the default, is any free one.
  public var port: UInt16
  /// How many HTTP threads; nil for one for each processor.
  public var threads: Int?
  /// What one client may cost. The connections of this machine and of `trustedProxies` don't count for their address.
  public var limits: HTTPLimits
  /// How many requests may wait to write; 4,096 unless given.
  public var writeQueueLimit: Int
  /// How many requests may wait to read, or with SQLite to read what takes long; 4,096 unless given.
  public var readQueueLimit: Int
  /// How long a request may read in SQLite before it fails; 10 seconds unless given.
  public private(set) var readTimeLimit: Duration
  /// How many password checks may wait; 64 unless given.
  public var passwordQueueLimit: Int
  /// How often a stream of events hears something, at least; 25 seconds unless given, a tenth of a second or more.
  public var heartbeat: Duration
  /// How many streams of events there may be, but at most four fifths of `limits.maximumConnections`, so that requests find room; 16,000 unless
  /// given.
  public var eventStreamLimit: Int
  /// Where snapshots are kept, a folder for this database alone; nil, the default, for `snapshots` in the data directory, or a temporary folder with
  /// PostgreSQL.
  public var snapshotFolder: String?
  /// How many bytes of them are kept; 4 GiB unless given.
  public var snapshotLimit: Int64
  /// The team's own program that is told which zones moved; nil, the default, for none.
  public var webhook: WebhookConfiguration?
  /// How long is kept what nobody may need any more.
  public var retention: Retention
  /// Origins such as `https://app.example.org` whose pages may call from a browser, or `*` for all; none unless given.
  public var allowedOrigins: TextSet
  /// The folder of a web app, which is served at all paths that the protocol does not have; nil, the default, for none.
  public var webFolder: String?
  /// How many wrong passwords an account takes from an address before both have to wait; 10 unless given. docs/IDENTITY.md, section 4.
  public var guessLimit: Int
  /// The identity provider whose JWTs are taken; nil, the default, for none.
  public var identityProvider: IdentityProviderConfiguration?
  /// Whether anybody may make an account with a password; nil, the default, for yes unless there is an identity provider.
  public var allowsSignUp: Bool?
  /// The proxies whose X-Forwarded-For is believed; none unless given.
  public var trustedProxies: TrustedProxies
  /// The certificate that the server presents; nil, the default, for plain HTTP.
  public var tls: TLSFiles?
  /// Takes each line of the log, without its line break; called on any thread, which must not wait. Default: the standard error, by
  /// way of a queue of 1 MiB; lines beyond it are dropped and counted.
  public var log: @Sendable (String) -> Void
  /// The team's own resolvers and validators; none unless given.
  public var rules: Rules
  /// Clock, randomness and passwords.
  public var environment: ServerEnvironment

  /// A configuration; everything but the database has a default.
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
  /// Has a request fail that reads for longer than this.
  public mutating func limitReading(to time: Duration) {
    readTimeLimit = time
    guard case .postgres(var location) = database else { return }
    location.readTimeLimit = time
    database = .postgres(location)
  }
}
