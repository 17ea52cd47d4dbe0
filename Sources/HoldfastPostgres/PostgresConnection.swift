internal import CPostgres

/// One connection to a PostgreSQL server, version 13 or later.
///
/// Its calls block the calling thread until the server has answered. Use it from one thread at a time: it is not
/// `Sendable`, so an actor, a pool or a thread must own it. Only its `canceller` may be used from elsewhere. Using a
/// closed connection is a programmer's error and traps; using one that broke throws. Source:
/// <https://www.postgresql.org/docs/15/libpq.html>.
public final class PostgresConnection {
  private var handle: OpaquePointer?

  /// Stops this connection's statements from any thread.
  public let canceller: PostgresCanceller

  /// How it was opened.
  public let options: PostgresOptions

  /// What was wrong with values of its rows.
  let faults = PostgresFaults()

  /// What the server keeps prepared.
  var prepared = PreparedStatements()

  /// Opens a connection.
  ///
  /// - Parameters:
  ///   - conninfo: a URL as `postgres://role:password@host:port/database?sslmode=require`, or `host=… dbname=…`;
  ///     `PGHOST` and the other variables of the environment fill in what it leaves out. Source:
  ///     <https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING>.
  ///   - options: what the connection string does not say.
  /// - Throws: `.invalidConnectionString`, `.unsupportedServer`, `.cannotConnect` when no server answers (in time),
  ///   and what the server says: `.invalidPassword`, `.undefinedDatabase`, `.tooManyConnections`,
  ///   `.cannotConnectNow` and others.
  public init(_ conninfo: String, options: PostgresOptions = PostgresOptions()) throws(PostgresError) {
    let opened = try ConnectionAttempt.connect(conninfo, options)
    handle = opened
    canceller = PostgresCanceller(opened)
    self.options = options
    // Without it libpq prints notices to the standard error stream.
    PQsetNoticeProcessor(opened, { _, _ in }, nil)
    guard serverVersion >= 130_000 else {
      let version = "\(serverVersion / 10_000)"
      throw PostgresError(
        .unsupportedServer, "The server is PostgreSQL \(version); 13 or later is needed.", while: .connecting)
    }
  }

  deinit { close() }

  /// Closes the connection; a transaction still open is rolled back. Closing twice does nothing.
  public func close() {
    guard let handle else { return }
    self.handle = nil
    canceller.retire()
    PQfinish(handle)
  }

  /// libpq's handle of the open connection.
  var connection: OpaquePointer {
    guard let handle else { preconditionFailure("This PostgreSQL connection has been closed.") }
    return handle
  }

  /// Fails when a row of this connection was asked for a value that it does not have: a null, or one of another type. Every statement does so
  /// before it is sent; call this when the last values were read.
  public func checkValues() throws(PostgresError) { try faults.check() }

  /// Whether the connection is open, and was when it was last used.
  public var isUsable: Bool { handle.map { PQstatus($0) == CONNECTION_OK } ?? false }

  /// Where a connection stands in its transaction.
  public enum TransactionStatus: Sendable, Hashable {
    /// In none.
    case idle
    /// A statement is running.
    case active
    /// In one that can go on.
    case inTransaction
    /// In one that failed, and can only be rolled back.
    case failed
    /// The connection is of no use.
    case unknown
  }

  /// Where the connection stands in its transaction, as the server last said.
  public var transactionStatus: TransactionStatus {
    switch handle.map({ PQtransactionStatus($0) }) {
    case PQTRANS_IDLE: .idle
    case PQTRANS_ACTIVE: .active
    case PQTRANS_INTRANS: .inTransaction
    case PQTRANS_INERROR: .failed
    default: .unknown
    }
  }

  /// The process of the server that serves this connection, as in `pg_stat_activity`.
  public var serverProcess: Int32 { PQbackendPID(connection) }

  /// The server's version: 150018 for 15.18.
  public var serverVersion: Int { Int(PQserverVersion(connection)) }

  /// Ends a connection in whose state nothing certain can be said; further calls throw as on one that broke.
  func abandon() {
    close()
    // A text that is no connection string makes a connection that has failed already.
    handle = PQconnectStart("abandoned")
  }
}
