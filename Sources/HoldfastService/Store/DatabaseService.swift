/// How a database is opened by who serves it.
package struct DatabaseService: Sendable {
  package let environment: ServerEnvironment
  /// Whether a database that is not there is an error, rather than made.
  package var mustExist = false
  /// Takes what is noticed: that a database was made, or that its history went back.
  package let log: @Sendable (String) -> Void

  package init(
    environment: ServerEnvironment, mustExist: Bool = false, log: @escaping @Sendable (String) -> Void
  ) {
    (self.environment, self.mustExist, self.log) = (environment, mustExist, log)
  }
}
