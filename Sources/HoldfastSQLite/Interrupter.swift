internal import CSQLite
internal import HoldfastSystem

/// Stops what a connection is running, from any thread.
///
/// It may outlive its connection; it then does nothing. Source:
/// <https://www.sqlite.org/c3ref/interrupt.html>.
public final class Interrupter: Sendable {
  /// The address of the open connection, or 0. The lock keeps the connection open while it is being
  /// interrupted.
  private let address: Guarded<UInt>

  init(_ database: OpaquePointer) { address = Guarded(UInt(bitPattern: database)) }

  /// Makes every running statement of the connection fail soon with `.interrupt`; a write among them loses
  /// its whole transaction. Statements started after all running ones have ended are not affected.
  public func interrupt() {
    address.withLock { address in
      if let database = OpaquePointer(bitPattern: address) { sqlite3_interrupt(database) }
    }
  }

  /// Waits for an interrupt under way, and makes later ones do nothing.
  func retire() { address.withLock { $0 = 0 } }
}
