import Dispatch
import HoldfastCore
import HoldfastSQLite

/// A connection with the one queue on which it is used.
final class DatabaseQueue: @unchecked Sendable {
  // Proof: `database` is touched only on `queue`, which is serial.
  private let queue: DispatchQueue
  private var database: LocalDatabase?

  init(label: String, open: () throws -> LocalDatabase) rethrows {
    queue = DispatchQueue(label: label)
    database = try open()
  }

  /// Runs `body`, which may throw, on the queue.
  ///
  /// - Throws: `StoreError.closed`, and what `body` throws.
  func perform<T: Sendable>(_ body: @escaping @Sendable (LocalDatabase) throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { [self] in
        continuation.resume(
          with: Result {
            guard let database else { throw StoreError(.closed, "The store was closed.") }
            do { return try body(database) } catch let error as SQLiteError where error.isDamage {
              throw StoreError.damaged(error)
            }
          })
        database?.checkpointIfLong()
      }
    }
  }

  /// Closes the connection when all before is done.
  ///
  /// - Parameter done: is called then, on the queue.
  func close(_ done: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      database = nil
      done()
    }
  }
}
