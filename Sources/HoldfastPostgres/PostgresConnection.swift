internal import CPostgres

/// A connection to a PostgreSQL server, version 13 or later.
///
/// Calls block the thread until the server has answered. Use it from one thread at a time: it is not `Sendable`, so an actor, a pool or a
/// thread must own it. Only its `canceller` may be used from elsewhere. Using a closed connection traps; using a broken one throws. Source:
/// <https://www.postgresql.org/docs/15/libpq.html>.
public final class PostgresConnection {
  private var handle: OpaquePointer?

  /// Cancels this connection's statements from any thread.
  public let canceller: PostgresCanceller

  /// The options that it was opened with.
  public let options: PostgresOptions

  /// The faults in values of its rows.
  let faults = PostgresFaults()

  /// The statements that the server has prepared.
  var prepared = PreparedStatements()

  /// Its statements that took too long.
  let slow: SlowQueries

  /// Opens a connection.
  ///
  /// - Parameters:
  ///   - conninfo: a URL as `postgres://role:password@host:port/database?sslmode=require`, or `host=… dbname=…`. `PGHOST` and the other
  ///     environment variables supply missing parts. Source: <https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING>.
  ///   - options: settings besides the connection string.
  /// - Throws: `.invalidConnectionString`, `.unsupportedServer`, `.cannotConnect` if no server answers (in time), and the server's errors:
  ///   `.invalidPassword`, `.undefinedDatabase`, `.tooManyConnections`, `.cannotConnectNow` and others.
  public init(_ conninfo: String, options: PostgresOptions = PostgresOptions()) throws(PostgresError) {
    let opened = try ConnectionAttempt.connect(conninfo, options)
    handle = opened
    canceller = PostgresCanceller(opened)
    self.options = options
    slow = SlowQueries(options)
    // Otherwise libpq prints notices to standard error.
    PQsetNoticeProcessor(opened, { _, _ in }, nil)
    guard serverVersion >= 130_000 else {
      let version = "\(serverVersion / 10_000)"
      throw PostgresError(
        .unsupportedServer, "The server is PostgreSQL \(version); 13 or later is needed.", while: .connecting)
    }
  }

  deinit { close() }

  /// Closes the connection; an open transaction is rolled back. A second call does nothing.
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

  /// Throws if a value of a row was read that does not exist: a null, or a value of another type. Every statement checks this before it is
  /// sent. Call it after the last values were read.
  public func checkValues() throws(PostgresError) { try faults.check() }

  /// Whether the connection is open, and worked at its last use.
  public var isUsable: Bool { handle.map { PQstatus($0) == CONNECTION_OK } ?? false }

  /// The transaction status of a connection.
  public enum TransactionStatus: Sendable, Hashable {
    /// In no transaction.
    case idle
    /// A statement is running.
    case active
    /// In a transaction.
    case inTransaction
    /// In a failed transaction, which can only be rolled back.
    case failed
    /// The connection is unusable.
    case unknown
  }

  /// The transaction status, as the server last reported it.
  public var transactionStatus: TransactionStatus {
    switch handle.map({ PQtransactionStatus($0) }) {
    case PQTRANS_IDLE: .idle
    case PQTRANS_ACTIVE: .active
    case PQTRANS_INTRANS: .inTransaction
    case PQTRANS_INERROR: .failed
    default: .unknown
    }
  }

  /// The process id of the server process, as in `pg_stat_activity`.
  public var serverProcess: Int32 { PQbackendPID(connection) }

  /// The server's version: 150018 for 15.18.
  public var serverVersion: Int { Int(PQserverVersion(connection)) }

  /// Ends a connection in an uncertain state. Further calls throw as on a broken connection.
  func abandon() {
    close()
    // An invalid connection string creates a connection that has already failed.
    handle = PQconnectStart("abandoned")
  }
}
