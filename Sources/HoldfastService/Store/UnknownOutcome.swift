/// The connection to the database was lost at a commit: the transaction may be committed.
package struct UnknownOutcome: Error, CustomStringConvertible {
  /// Why it was lost.
  package let cause: any Error

  package init(_ cause: any Error) { self.cause = cause }

  package var description: String { "\(cause)" }
}
