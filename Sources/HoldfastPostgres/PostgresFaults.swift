/// The faults in values that were read from a connection's rows: an unexpected null, or a column of another type. Other programs may write
/// to the database or alter it.
///
/// The row then returns an empty value, and records the fault here. The value can't take effect: the connection's next statement, including
/// COMMIT, fails with the fault before it is sent. So does the pool that lent the connection.
///
/// @unchecked Sendable: used only by the thread that has the connection, as its rows are.
final class PostgresFaults: @unchecked Sendable {
  private var first: PostgresError?

  /// Records a fault; the first one is kept.
  func note(_ message: String) {
    if first == nil { first = PostgresError(.unexpectedValue, message, while: .reading) }
  }

  /// Throws the recorded fault once.
  func check() throws(PostgresError) {
    guard let fault = first else { return }
    first = nil
    throw fault
  }

  /// Discards the recorded fault.
  func clear() { first = nil }
}
