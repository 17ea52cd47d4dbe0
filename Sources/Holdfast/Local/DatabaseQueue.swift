import Dispatch
import HoldfastCore
import HoldfastSQLite

/// A connection with the one queue on which it is used.
final class DatabaseQueue: @unchecked Sendable {
  // Proof: `database` is touched only on `queue`, which is serial.
  private let queue: DispatchQueue
  private let database: LocalDatabase

  init(label: String, open: () throws -> LocalDatabase) rethrows {
    queue = DispatchQueue(label: label)
    database = try open()
  }

  /// Runs `body` on the queue.
  func perform<T: Sendable>(_ body: @escaping @Sendable (LocalDatabase) -> T) async -> T {
    await withCheckedContinuation { continuation in
      queue.async { [self] in
        continuation.resume(returning: body(database))
        database.checkpointIfLong()
      }
    }
  }

  /// Runs `body`, which may throw, on the queue.
  func perform<T: Sendable>(_ body: @escaping @Sendable (LocalDatabase) throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { [self] in
        continuation.resume(with: Result { try body(database) })
        database.checkpointIfLong()
      }
    }
  }
}
