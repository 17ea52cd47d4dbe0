import HoldfastConcurrency
internal import CPostgres

/// Stops what a connection is running, from any thread.
///
/// It may outlive its connection; it then does nothing. Source:
/// <https://www.postgresql.org/docs/15/libpq-cancel.html>.
///
/// @unchecked Sendable: `handle` is read and changed only while the lock is held.
public final class PostgresCanceller: @unchecked Sendable {
  private let lock = Lock()
  private var handle: OpaquePointer?

  init(_ connection: OpaquePointer) { handle = PQgetCancel(connection) }

  deinit { retire() }

  /// Asks the server to end the running statement, which then fails with `.queryCanceled`; when none is running
  /// it does nothing. Blocks for the time of one more connection to the server.
  ///
  /// - Returns: whether the server could be asked.
  @discardableResult
  public func cancel() -> Bool {
    lock.hold {
      guard let handle else { return false }
      return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { words in
        PQcancel(handle, words.baseAddress, Int32(words.count)) == 1
      }
    }
  }

  /// Waits for a cancellation under way, and makes later ones do nothing.
  func retire() {
    lock.hold {
      PQfreeCancel(handle)
      handle = nil
    }
  }
}
