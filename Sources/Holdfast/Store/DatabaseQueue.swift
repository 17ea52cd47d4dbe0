import Dispatch
import HoldfastCore
import HoldfastSQLite
import HoldfastSystem

/// A connection with the one queue on which it is used.
///
/// @unchecked Sendable: `state` is touched only on `queue`, which is serial.
final class DatabaseQueue: @unchecked Sendable {
  private enum State {
    case open(LocalDatabase)
    /// The file is opened again when something is asked of it.
    case released
    case suspended, closed
  }

  private let queue: DispatchQueue
  private let makeDatabase: @Sendable () throws -> LocalDatabase
  private var state: State
  /// Stops what the open connection runs.
  private let interrupter: Locked<Interrupter?>
  /// Whether the database goes with its connection.
  private let isInMemory: Bool
  /// How many functions run on the queue or wait for it.
  private let backlog = Locked(0)

  /// - Parameter open: makes the connection, at once and after each suspension.
  init(label: String, isInMemory: Bool = false, open: @escaping @Sendable () throws -> LocalDatabase) throws {
    queue = DispatchQueue(label: label)
    makeDatabase = open
    self.isInMemory = isInMemory
    let database = try open()
    state = .open(database)
    interrupter = Locked(database.connection.interrupter)
  }

  /// Runs `body`, which may throw, on the queue.
  ///
  /// - Throws: `StoreError.closed`, `StoreError.suspended`, and what `body` throws.
  func perform<T: Sendable>(_ body: @escaping @Sendable (LocalDatabase) throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
      submit { [self] in
        let result = Result { try run(body) }
        return { continuation.resume(with: result) }
      }
    }
  }

  /// Runs a short transaction on the thread of the caller when the queue is empty and no other program writes, else as `perform`: the way to the
  /// queue's thread and back takes as long as a small transaction. The caller's thread is one of few, and never waits for a lock.
  ///
  /// - Throws: as `perform`.
  func performAtOnce<T: Sendable>(_ body: @escaping @Sendable (LocalDatabase) throws -> T) async throws -> T {
    if let result = try resultAtOnce(body) { return result }
    return try await perform(body)
  }

  /// - Returns: nil when the queue is not empty, or the transaction could not begin.
  private func resultAtOnce<T>(_ body: (LocalDatabase) throws -> T) throws -> T? {
    guard isFree() else { return nil }
    return try queue.sync {
      defer { leave() }
      return try run { database in try database.withoutWaiting { try body(database) } }
    }
  }

  /// Whether the queue is empty, which it is not any more then.
  private func isFree() -> Bool {
    backlog.withLock { count in
      defer { if count == 0 { count = 1 } }
      return count == 0
    }
  }

  /// Runs `body` on the queue, and waits for it here: not to be called on this queue.
  ///
  /// - Throws: as `perform`.
  func performNow<T>(_ body: (LocalDatabase) throws -> T) throws -> T {
    backlog.withLock { $0 += 1 }
    return try queue.sync {
      defer { leave() }
      return try run(body)
    }
  }

  /// Runs `body` on the queue while the connection of this queue and those of others are closed; what is asked of them waits.
  ///
  /// - Returns: nil when one of the others is in use: none is waited for.
  func performReleased<T: Sendable>(
    with others: [DatabaseQueue], _ body: @escaping @Sendable () throws -> T
  ) async throws -> T? {
    try await withCheckedThrowingContinuation { continuation in
      submit { [self] in
        let result = Result { () -> T? in
          try run { _ in }
          var stopped: [DatabaseQueue] = []
          defer { for other in stopped { other.goOn() } }
          for other in others {
            guard other.stop() else { return nil }
            stopped.append(other)
          }
          release()
          let result = Result { try body() }
          // Before a reader can: only a connection that writes brings the file back to WAL mode. What fails is tried again by the next that asks.
          try? run { _ in }
          return try result.get()
        }
        return { continuation.resume(with: result) }
      }
    }
  }

  /// Closes the connection until it is asked for, and stops the queue, if it is empty.
  private func stop() -> Bool {
    guard isFree() else { return false }
    queue.sync {
      release()
      queue.suspend()
    }
    return true
  }

  private func goOn() {
    queue.resume()
    backlog.withLock { $0 -= 1 }
  }

  private func release() {
    guard case .open = state else { return }
    state = .released
    interrupter.withLock { $0 = nil }
  }

  /// Runs `body` on the queue some time; it gets what runs a function on the database.
  func enqueue(_ body: @escaping @Sendable (Access) -> Void) {
    submit { [self] in
      body(Access(queue: self))
      return {}
    }
  }

  /// - Parameter body: runs on the queue. What it returns is called when the queue is empty again, if nothing else waits: who goes on by it may find it so.
  private func submit(_ body: @escaping @Sendable () -> () -> Void) {
    backlog.withLock { $0 += 1 }
    queue.async { [self] in
      let finish = body()
      leave()
      finish()
    }
  }

  /// Ends a function on the queue: a checkpoint takes its place when one is due. Nobody waits for that but who writes next.
  private func leave() {
    guard case .open(let database) = state, database.hasLongLog else { return backlog.withLock { $0 -= 1 } }
    queue.async { [self] in
      if case .open(let database) = state { database.checkpointIfLong() }
      backlog.withLock { $0 -= 1 }
    }
  }

  /// The database while a function runs on its queue.
  struct Access {
    fileprivate let queue: DatabaseQueue

    func run<T>(_ body: (LocalDatabase) throws -> T) throws -> T { try queue.run(body) }
  }

  private func run<T>(_ body: (LocalDatabase) throws -> T) throws -> T {
    let database: LocalDatabase
    switch state {
    case .open(let open): database = open
    case .released: database = try open()
    case .suspended: throw Self.suspended
    case .closed: throw StoreError(.closed, "The store was closed.")
    }
    do { return try body(database) } catch let error as SQLiteError where error.isDamage {
      throw StoreError.damaged(error)
    } catch let error as SQLiteError where error.code.primary == .interrupt {
      throw Self.suspended
    }
  }

  private func open() throws -> LocalDatabase {
    let database = try makeDatabase()
    state = .open(database)
    interrupter.withLock { $0 = database.connection.interrupter }
    return database
  }

  private static let suspended = StoreError(
    .suspended, "The store is suspended: nothing was written. Call resume(), then do it again.")

  /// Lets go of the file and of its locks when what is under way is done.
  func suspend() async {
    await withCheckedContinuation { continuation in
      submit { [self] in
        if isInMemory { return { continuation.resume() } }
        release()
        if case .released = state { state = .suspended }
        return { continuation.resume() }
      }
    }
  }

  /// Makes what is under way fail soon with `StoreError.suspended`.
  func interrupt() { interrupter.withLock { $0?.interrupt() } }

  /// Opens the file again.
  func resume() async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      submit { [self] in
        let result = Result {
          if case .suspended = state { _ = try open() }
        }
        return { continuation.resume(with: result) }
      }
    }
  }

  /// Opens the database again in the place of the one that is open: it is made otherwise by now. One that is suspended stays so.
  func reopen() async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      submit { [self] in
        let result = Result {
          guard case .open = state else { return }
          let database = try makeDatabase()
          state = .open(database)
          interrupter.withLock { $0 = database.connection.interrupter }
        }
        return { continuation.resume(with: result) }
      }
    }
  }

  /// Closes the connection when all before is done.
  ///
  /// - Parameter done: is called then, on the queue.
  func close(_ done: @escaping @Sendable () -> Void) {
    submit { [self] in
      state = .closed
      interrupter.withLock { $0 = nil }
      return done
    }
  }
}

extension DatabaseQueue {
  /// Runs `body`, which only reads, on a consistent state of the database.
  func read<T: Sendable>(
    _ environment: StoreEnvironment, _ body: @escaping @Sendable (Database) throws -> T
  ) async throws -> T {
    try await perform { local in
      try local.reading { try body(Database(local: local, environment: environment)) }
    }
  }

  /// The same, and waits for it here.
  func readNow<T>(_ environment: StoreEnvironment, _ body: (Database) throws -> T) throws -> T {
    try performNow { local in try local.reading { try body(Database(local: local, environment: environment)) }
    }
  }
}

/// The turns that several take, one after the other.
final class Turns: Sendable {
  private let last = Locked(0)

  /// The one whose turn it is.
  func next(of queues: [DatabaseQueue]) -> DatabaseQueue {
    let number = last.withLock { last in
      last &+= 1
      return last
    }
    return queues[number % queues.count]
  }
}

extension [DatabaseQueue] {
  private static var interruptionPause: Duration { .milliseconds(5) }

  /// Suspends all, in their order.
  ///
  /// - Parameters:
  ///   - grace: how long what is under way may go on; then it fails with `StoreError.suspended`.
  ///   - sleep: waits.
  func suspend(within grace: Duration, sleep: @escaping @Sendable (Duration) async throws -> Void) async {
    let interruption = Task {
      var pause = grace
      // A transaction that is between two statements notices none of them.
      while (try? await sleep(pause)) != nil, !Task.isCancelled {
        for queue in self { queue.interrupt() }
        pause = Self.interruptionPause
      }
    }
    for queue in self { await queue.suspend() }
    interruption.cancel()
    // Else it might stop what runs after the next opening.
    await interruption.value
  }
}
