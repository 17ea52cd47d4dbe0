import HoldfastHTTP

/// Readers for threads that come and go: as many as are used at the same time.
///
/// @unchecked Sendable: the list is touched under the lock alone, and a reader that was taken out of it is used by the one
/// thread that took it until it is put back.
final class ReaderPool: @unchecked Sendable {
  private let database: any ServerDatabase
  private let answerSize: Int
  private let lock = Lock()
  private var idle: [Reader] = []

  init(_ database: any ServerDatabase, answerSize: Int) {
    self.database = database
    self.answerSize = answerSize
  }

  /// Lends a reader for the time that `body` runs.
  func read<Result>(_ body: (Reader) throws -> Result) throws -> Result {
    let reader = try lock.hold { idle.popLast() } ?? Reader(database, answerSize: answerSize)
    defer { lock.hold { idle.append(reader) } }
    return try body(reader)
  }

  /// Closes all readers that are not in use.
  func close() { lock.hold { idle.removeAll() } }
}
