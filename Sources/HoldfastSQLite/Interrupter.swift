internal import CSQLite
internal import HoldfastSystem

/// Interrupts the running statements of a connection, from any thread.
///
/// After its connection is closed, it does nothing. Source: <https://www.sqlite.org/c3ref/interrupt.html>.
package final class Interrupter: Sendable {
  /// The address of the open connection, or 0. The lock keeps the connection open while it is being
  /// interrupted.
  private let address: Locked<UInt>

  init(_ database: OpaquePointer) { address = Locked(UInt(bitPattern: database)) }

  /// Makes every running statement of the connection fail soon with `.interrupt`. An interrupted write rolls back its whole transaction.
  /// Statements that start after all running ones have ended are not affected.
  package func interrupt() {
    address.withLock { address in
      if let database = OpaquePointer(bitPattern: address) { sqlite3_interrupt(database) }
    }
  }

  /// Waits for a running interrupt, and disables later ones.
  func retire() { address.withLock { $0 = 0 } }
}
