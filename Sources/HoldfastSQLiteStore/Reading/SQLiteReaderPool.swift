import HoldfastConcurrency
import HoldfastService

/// Readers for threads that come and go: as many as are used at the same time.
///
/// @unchecked Sendable: the list is touched under the lock alone, and a reader that was taken out of it is used by the one
/// thread that took it until it is put back.
final class SQLiteReaderPool: @unchecked Sendable {
  private let lock = Lock()
  private var idle: [SQLiteReader] = []

  /// Lends a reader for the time that `body` runs.
  ///
  /// - Parameter make: makes one when all are in use.
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
