import HoldfastConcurrency
import HoldfastService
import Synchronization

/// A pool of readers, as many as are in use at the same time.
///
/// @unchecked Sendable: the list is used only under the lock. A borrowed reader is used only by the thread that borrowed it.
final class SQLiteReaderPool: @unchecked Sendable {
  private let lock = Lock()
  private var idle: [SQLiteReader] = []
  private let isInterrupted = Atomic<Bool>(false)

  /// Whether reads must end.
  var areInterrupted: Bool { isInterrupted.load(ordering: .relaxed) }

  /// Makes `areInterrupted` true.
  func interrupt() { isInterrupted.store(true, ordering: .relaxed) }

  /// Lends a reader to `body`.
  ///
  /// - Parameter make: creates a reader if all are in use.
  func read<Result>(
    _ make: () throws -> SQLiteReader, _ body: (SQLiteReader) throws -> Result
  ) throws -> Result {
    let reader = try lock.hold { idle.popLast() } ?? make()
    defer { lock.hold { idle.append(reader) } }
    return try body(reader)
  }

  /// Lends a reader that is there and not in use; nil when there is none.
  func readIdle<Result>(_ body: (SQLiteReader) throws -> Result) rethrows -> Result? {
    guard let reader = lock.hold({ idle.popLast() }) else { return nil }
    defer { lock.hold { idle.append(reader) } }
    return try body(reader)
  }

  /// Closes all readers that are not in use.
  func close() { lock.hold { idle.removeAll() } }
}
