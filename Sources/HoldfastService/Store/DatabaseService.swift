/// How a server opens its database.
package struct DatabaseService: Sendable {
  package let environment: ServerEnvironment
  /// Whether a missing database is an error. If false, the server creates it.
  package var mustExist = false
  /// Logs that the database was created, or that its history went back.
  package let log: @Sendable (String) -> Void

  package init(
    environment: ServerEnvironment, mustExist: Bool = false, log: @escaping @Sendable (String) -> Void
  ) {
    (self.environment, self.mustExist, self.log) = (environment, mustExist, log)
  }
}
