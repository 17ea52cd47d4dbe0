import HoldfastConcurrency

/// A bounded number of connections, each lent to one borrower at a time.
///
/// `withConnection` may be called from any thread, and blocks it. Each connection has an associated state, such as buffers and statements.
/// The most recently returned connection is lent first.
///
/// @unchecked Sendable: `shelf` is read and changed only with the lock held. A lent connection is used only by its borrower's thread.
public final class PostgresPool<State>: @unchecked Sendable {
  private let conninfo: String
  private let options: PostgresOptions
  private let limits: PostgresPoolLimits
  private let prepare: @Sendable (PostgresConnection) throws -> State
  private let lock = Lock()
  private var shelf = Shelf()

  /// A connection and its state.
  private struct Item {
    let connection: PostgresConnection
    var state: State
    var idleSince = MonotonicTime.now
  }

  private struct Shelf {
    var idle: [Item] = []
    var lent = 0
    var isClosed = false
    /// The error of the last failed attempt to connect, and the time of the next attempt.
    var failure: (error: any Error, until: MonotonicTime)?
  }

  /// Creates a pool, which opens connections on demand.
  ///
  /// - Parameters:
  ///   - conninfo: the connection string, as for `PostgresConnection`.
  ///   - prepare: called on the borrower's thread with each new connection, to create its state. If it throws, the connection is closed,
  ///     and the borrower gets the error.
  public init(
    _ conninfo: String, options: PostgresOptions = PostgresOptions(),
    limits: PostgresPoolLimits = PostgresPoolLimits(),
    prepare: @escaping @Sendable (PostgresConnection) throws -> State
  ) {
    precondition(limits.connections > 0, "A pool needs room for a connection.")
    self.conninfo = conninfo
    self.options = options
    self.limits = limits
    self.prepare = prepare
  }

  /// Lends a connection to `body` on this thread, and takes it back afterwards.
  ///
  /// A transaction that `body` leaves open is rolled back, even if it returns normally. A lost connection is closed, and another one opened
  /// on demand. Nothing is retried automatically: the caller decides by the error.
  /// - Parameter body: must not keep the connection. It must not borrow a second one: with all connections lent, that could time out.
  /// - Throws: the error of `body`; `.poolExhausted`, `.poolClosed`; the error of opening a connection now or a moment ago.
  public func withConnection<Value>(
    _ body: (PostgresConnection, inout State) throws -> Value
  ) throws -> Value {
    var item = try borrow()
    defer { giveBack(item) }
    let value = try body(item.connection, &item.state)
    try item.connection.checkValues()
    return value
  }

  /// Closes the idle connections, and the lent ones when they are returned. Waiting and later borrowers get `.poolClosed`.
  public func close() {
    let idle = lock.hold {
      shelf.isClosed = true
      defer { shelf.idle = [] }
      lock.broadcast()
      return shelf.idle
    }
    for item in idle { item.connection.close() }
  }

  /// The current number of open connections, lent and idle.
  public var counts: (lent: Int, idle: Int) { lock.hold { (shelf.lent, shelf.idle.count) } }

  private func borrow() throws -> Item {
    while true {
      // nil: the borrower may open a new one.
      guard let item = try take() else { return try open() }
      if isHealthy(item) { return item }
      item.connection.close()
      release()
    }
  }

  private func take() throws -> Item? {
    let deadline = MonotonicTime.exact + limits.wait
    return try lock.hold { () throws -> Item? in
      while true {
        if shelf.isClosed {
          throw PostgresError(.poolClosed, "The pool was closed.", while: .borrowing)
        }
        if let item = shelf.idle.popLast() {
          shelf.lent += 1
          return item
        }
        if shelf.lent < limits.connections {
          if let failure = shelf.failure, .now < failure.until { throw failure.error }
          shelf.lent += 1
          return nil
        }
        guard .now < deadline else {
          let count = limits.connections
          throw PostgresError(
            .poolExhausted, "All \(count) connections were lent for \(limits.wait).", while: .borrowing)
        }
        lock.wait(until: deadline)
      }
    }
  }

  private func open() throws -> Item {
    do {
      let connection = try PostgresConnection(conninfo, options: options)
      let item = Item(connection: connection, state: try prepare(connection))
      lock.hold { shelf.failure = nil }
      return item
    } catch {
      lock.hold { shelf.failure = (error, .now + limits.pauseAfterFailure) }
      release()
      throw error
    }
  }

  private func isHealthy(_ item: Item) -> Bool {
    guard item.connection.seemsAlive else { return false }
    if .now < item.idleSince + limits.trustedIdle { return true }
    return (try? item.connection.execute("")) != nil
  }

  private func giveBack(_ item: Item) {
    let connection = item.connection
    connection.faults.clear()
    if connection.isUsable, connection.transactionStatus != .idle { try? connection.execute("ROLLBACK") }
    guard connection.isUsable, connection.transactionStatus == .idle else {
      connection.close()
      return release()
    }
    var item = item
    item.idleSince = .now
    let isKept = lock.hold {
      shelf.lent -= 1
      if !shelf.isClosed { shelf.idle.append(item) }
      lock.signal()
      return !shelf.isClosed
    }
    if !isKept { connection.close() }
  }

  /// Releases the right to a connection.
  private func release() {
    lock.hold {
      shelf.lent -= 1
      lock.signal()
    }
  }
}

extension PostgresPool<Void> {
  /// Creates a pool of connections without state.
  public convenience init(
    _ conninfo: String, options: PostgresOptions = PostgresOptions(),
    limits: PostgresPoolLimits = PostgresPoolLimits()
  ) {
    self.init(conninfo, options: options, limits: limits) { _ in () }
  }

  /// Lends a connection; see the other `withConnection`.
  public func withConnection<Value>(_ body: (PostgresConnection) throws -> Value) throws -> Value {
    try withConnection { connection, _ in try body(connection) }
  }
}
