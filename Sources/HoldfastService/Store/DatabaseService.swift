package import HoldfastSystem

/// How a server opens its database.
package struct DatabaseService: Sendable {
  package let environment: ServerEnvironment
  /// Whether a missing database is an error. If false, the server creates it.
  package var mustExist = false
  /// Receives the statements that take too long; nil for nobody.
  package var slow: SlowStatements?
  /// Whether the process was told to end: an opening that waits for others gives up.
  package let isEnding: @Sendable () -> Bool
  /// Logs that the database was created, or that its history went back.
  package let log: @Sendable (String) -> Void

  package init(
    environment: ServerEnvironment, mustExist: Bool = false, slow: SlowStatements? = nil,
    isEnding: @escaping @Sendable () -> Bool = { false }, log: @escaping @Sendable (String) -> Void
  ) {
    (self.environment, self.mustExist, self.slow, self.log) = (environment, mustExist, slow, log)
    self.isEnding = isEnding
  }
}
