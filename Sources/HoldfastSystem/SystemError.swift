/// A call of the operating system that failed.
package struct SystemError: Error, Sendable, CustomStringConvertible {
  /// What the system says of it.
  package let description: String
}
