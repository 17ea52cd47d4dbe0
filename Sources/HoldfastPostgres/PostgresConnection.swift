internal import CPostgres
import HoldfastConcurrency

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// A connection to a PostgreSQL server, version 13 or later.
///
/// Calls block the thread until the server has answered. Use it from one thread at a time: it is not `Sendable`, so an actor, a pool or a
/// thread must own it. Only its `canceller` may be used from elsewhere. Using a closed connection traps; using a broken one throws. Source:
/// <https://www.postgresql.org/docs/15/libpq.html>.
public final class PostgresConnection {
  private var handle: OpaquePointer?
  private var isGivenUp = false

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

  /// How long the server may be silent; nil for no limit.
  private var silenceLimit: Milliseconds?

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
    silenceLimit = options.silenceLimit.map { Milliseconds($0) }
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
  public var isUsable: Bool { !isGivenUp && handle.map { PQstatus($0) == CONNECTION_OK } ?? false }

  /// Makes the connection unusable for its owner, who closes it and opens another one, as after a loss.
  public func giveUp() { isGivenUp = true }

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

extension PostgresConnection {
  /// Waits for the server, which owes an answer, until its socket is ready.
  ///
  /// - Throws: `.connectionLost` if the server is silent for longer than the options permit, or the wait is interrupted. The connection is
  ///   then abandoned.
  func waitForServer(_ asked: Readiness) throws(PostgresError) -> Readiness {
    let socket = PQsocket(connection)
    let deadline = silenceLimit.map { MonotonicTime.exact + $0 }
    let ready = Readiness.wait(
      for: asked, of: socket, orReadable: options.interruption?.reading ?? -1, until: deadline)
    if !ready.other, !ready.first.isEmpty { return ready.first }
    // Closing a connection sends the server a message, which would wait for room that there may never be.
    shutdown(socket, Int32(SHUT_RDWR))
    abandon()
    let reason =
      ready.other ? "It was interrupted." : "The server has sent nothing for too long."
    throw PostgresError(.connectionLost, reason, while: .running)
  }

  /// Runs `body`, in which the server may be silent for another time.
  func withSilenceLimit<Result>(_ limit: Duration, _ body: () -> Result) -> Result {
    let before = silenceLimit
    defer { silenceLimit = before }
    silenceLimit = Milliseconds(limit)
    return body()
  }

  /// Subscribes to a channel until the connection ends.
  ///
  /// - Parameter channel: its name, case-sensitive; at most 63 bytes.
  public func listen(_ channel: String) throws(PostgresError) {
    let quoted = channel.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
    try execute("LISTEN \"\(quoted)\"")
  }

  /// Waits for notifications, and returns those since the last call.
  ///
  /// Notifications arrive only outside of transactions.
  /// - Parameters:
  ///   - timeout: how long to wait for the first; zero polls, nil waits without limit.
  ///   - waker: ends the wait when another thread calls its `wake`.
  /// - Returns: the notifications in order; none after the timeout or a `wake`.
  /// - Throws: `.connectionLost`. Notifications are missed until another connection listens.
  public func notifications(
    timeout: Duration?, waker: PostgresWaker? = nil
  ) throws(PostgresError) -> [PostgresNotification] {
    let connection = connection
    let deadline = timeout.map { MonotonicTime.exact + $0 }
    while true {
      if PQconsumeInput(connection) == 0 { throw lostWhileWaiting() }
      var received: [PostgresNotification] = []
      while let next = PQnotifies(connection) {
        received.append(PostgresNotification(next.pointee))
        PQfreemem(next)
      }
      if !received.isEmpty { return received }
      if PQstatus(connection) != CONNECTION_OK { throw lostWhileWaiting() }
      let ready = Readiness.wait(
        for: .readable, of: PQsocket(connection), orReadable: waker?.reading ?? -1, until: deadline)
      if ready.other { waker?.reset() }
      if !ready.first.contains(.readable) { return [] }
    }
  }

  private func lostWhileWaiting() -> PostgresError {
    PostgresError(nil, of: connection, while: .waiting, statement: nil)
  }

  /// Whether the connection seems to be open, checked without a round trip. A server that ended the connection has left something to read.
  public var seemsAlive: Bool {
    guard isUsable, transactionStatus == .idle else { return false }
    if Readiness.wait(for: .readable, of: PQsocket(connection), until: .now).isEmpty { return true }
    // A notification or a changed setting is no reason to discard the connection.
    return PQconsumeInput(connection) == 1 && isUsable
      && Readiness.wait(for: .readable, of: PQsocket(connection), until: .now).isEmpty
  }
}
