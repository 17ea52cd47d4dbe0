import HoldfastConcurrency

/// A bounded number of connections, each lent to one borrower at a time.
///
/// `withConnection` may be called from any thread, and blocks it. Each connection has a state beside it, for what
/// belongs to a connection: buffers, statements. The connection that was given back last is lent first.
///
/// @unchecked Sendable: `shelf` is read and changed only while the lock is held, and a connection that was taken from
/// it is used only by its borrower's thread.
public final class PostgresPool<State>: @unchecked Sendable {
  private let conninfo: String
  private let options: PostgresOptions
  private let limits: PostgresPoolLimits
  private let prepare: @Sendable (PostgresConnection) throws -> State
  private let lock = Lock()
  private var shelf = Shelf()

  /// A connection and what belongs to it.
  private struct Item {
    let connection: PostgresConnection
    var state: State
    var idleSince = MonotonicTime.now
  }

  private struct Shelf {
    var idle: [Item] = []
    var lent = 0
    var isClosed = false
    /// Why the last connection could not be made, and until when none is tried.
    var failure: (error: any Error, until: MonotonicTime)?
  }

  /// Makes a pool, which opens its connections as they are needed: none yet.
  ///
  /// - Parameters:
  ///   - conninfo: as `PostgresConnection` takes it.
  ///   - prepare: called on the borrower's thread with each new connection, to make its state; what it throws, the
  ///     borrower gets, and the connection is closed.
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
  /// A transaction that `body` left open, even when it returned, is rolled back. A connection that was lost is
  /// closed, and another opened when one is needed. Nothing is done twice by itself: whether what failed may be
  /// tried again, the caller decides by the error.
  /// - Parameter body: must not keep the connection, and not borrow a second, for which it could wait in vain.
  /// - Throws: what `body` throws; `.poolExhausted`, `.poolClosed`; what opening a connection throws, or threw a
  ///   moment ago.
  public func withConnection<Value>(
    _ body: (PostgresConnection, inout State) throws -> Value
  ) throws -> Value {
    var item = try borrow()
    defer { giveBack(item) }
    let value = try body(item.connection, &item.state)
    try item.connection.checkValues()
    return value
  }

  /// Closes the idle connections, and the lent ones as they come back; whoever waits or comes later gets
  /// `.poolClosed`.
  public func close() {
    let idle = lock.hold {
      shelf.isClosed = true
      defer { shelf.idle = [] }
      lock.broadcast()
      return shelf.idle
    }
    for item in idle { item.connection.close() }
  }

  /// How many connections are open at the moment: those lent, and those idle.
  public var counts: (lent: Int, idle: Int) { lock.hold { (shelf.lent, shelf.idle.count) } }

  private func borrow() throws -> Item {
    while true {
      // nil: the borrower has the right to open one.
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

  /// Gives up the right to a connection.
  private func release() {
    lock.hold {
      shelf.lent -= 1
      lock.signal()
    }
  }
}

extension PostgresPool<Void> {
  /// Makes a pool of connections that have nothing beside them.
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
