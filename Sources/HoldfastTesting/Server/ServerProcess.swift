import HoldfastCore
import HoldfastSQLite
import HoldfastSQLiteStore
import HoldfastService

/// A server that runs: the rules over a database in memory. One thread at a time uses it.
final class ServerProcess {
  let environment: ServerEnvironment
  let clock: ServiceClock
  let schema: SyncSchema
  let database: SQLiteDatabase
  let operations: OperationReader
  private let service: Service
  private let words: SchemaWords

  /// - Parameters:
  ///   - path: of the database.
  ///   - exists: whether it is there.
  ///   - schema: what to serve.
  /// - Throws: `ServerError` when the schema or the rules can't be used.
  init(
    path: String, exists: Bool, schema: SyncSchema, rules: Rules, environment: ServerEnvironment,
    log: @escaping @Sendable (String) -> Void
  ) throws {
    try rules.check(against: schema)
    database = try SQLiteDatabase(file: path, exists: exists, schema: schema, random: environment.random)
    let store = try database.store()
    clock = try ServiceClock(of: store, environment)
    service = Service(
      store, schema, .slow, rules: rules, clock: clock, environment: environment, log: log)
    operations = OperationReader(schema: schema)
    words = SchemaWords(schema)
    (self.schema, self.environment) = (schema, environment)
  }

  /// Lends a reader for the time that `body` runs.
  func read<Result>(_ body: (SyncAnswers) throws -> Result) throws -> Result {
    try database.read { store in
      try body(
        SyncAnswers(
          store, answerSize: environment.answerSize, zoneLimit: environment.limits.zonesOfDevice, words))
    }
  }

  /// Does one command, in as many transactions as it takes.
  func apply(_ command: ServiceCommand) throws -> Outcome {
    var command = command
    while true {
      guard let result = service.apply([command])[0] else { throw Problem(.busy, retryAfter: 1) }
      let outcome = try result.get()
      guard case .unfinished(let progress) = outcome else { return outcome }
      command = command.goingOn(from: progress)
    }
  }

  /// Makes one pass over what may be purged: docs/RETENTION.md, section 2.
  func purge(_ retention: Retention) throws {
    guard case .time(let step) = try apply(.keepTime(isTrusted: false)) else {
      throw Problem(.internalError)
    }
    let terms = RetentionTerms(retention, in: database.history, at: step.time)
    _ = try RetentionPass(
      find: { kind, place in
        try self.database.read { try $0.found(kind, after: place, terms, in: self.schema) }
      },
      purge: { item in
        guard case .purged(let purged) = try self.apply(.purge(item, terms)) else { return nil }
        return purged
      }
    ).run()
  }

  /// Begins another history in a database that was restored: docs/RESTORING.md, section 3.
  func beginEpoch() throws {
    _ = try database.administration().store.beginEpoch(
      NewEpoch(environment, because: .restored, isForkKnown: true), after: nil)
  }

  func stop() {
    database.close()
    service.close()
  }
}
