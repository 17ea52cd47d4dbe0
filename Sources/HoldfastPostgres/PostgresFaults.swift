/// What was wrong with values that rows of a connection were asked for: a null where there is none, a column of another type. A database that others
/// write to, and alter, may hold anything.
///
/// A row gives an empty value then, and notes the fault here. Nothing can come of that value: the connection's next statement fails with the fault
/// before it is sent, the COMMIT among them, and so does the pool that lent the connection.
///
/// @unchecked Sendable: used by the thread that has the connection, as its rows are.
final class PostgresFaults: @unchecked Sendable {
  private var first: PostgresError?

  /// Notes a fault; the first is kept.
  func note(_ message: String) {
    if first == nil { first = PostgresError(.unexpectedValue, message, while: .reading) }
  }

  /// Throws what was noted, once.
  func check() throws(PostgresError) {
    guard let fault = first else { return }
    first = nil
    throw fault
  }

  /// Purges what was noted.
  func clear() { first = nil }
}
