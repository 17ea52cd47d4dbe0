import HoldfastConcurrency
internal import CPostgres

/// Cancels the running statement of a connection, from any thread.
///
/// After its connection is closed, it does nothing. Source: <https://www.postgresql.org/docs/15/libpq-cancel.html>.
///
/// @unchecked Sendable: `handle` is read and changed only with the lock held.
public final class PostgresCanceller: @unchecked Sendable {
  private let lock = Lock()
  private var handle: OpaquePointer?

  init(_ connection: OpaquePointer) { handle = PQgetCancel(connection) }

  deinit { retire() }

  /// Requests that the server cancel the running statement, which then fails with `.queryCanceled`. Without one it does nothing. Blocks
  /// while it opens another connection to the server.
  ///
  /// - Returns: whether the request was sent.
  @discardableResult
  public func cancel() -> Bool {
    lock.hold {
      guard let handle else { return false }
      return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { words in
        PQcancel(handle, words.baseAddress, Int32(words.count)) == 1
      }
    }
  }

  /// Waits for a running cancellation, and disables later ones.
  func retire() {
    lock.hold {
      PQfreeCancel(handle)
      handle = nil
    }
  }
}
