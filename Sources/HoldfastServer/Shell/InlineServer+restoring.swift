extension InlineServer {
  /// Begins a new epoch in a database file where there are no directories and no other processes: as `Restore.beginEpoch` does elsewhere.
  package static func beginEpoch(file: String, environment: ServerEnvironment) throws {
    let database = try SQLiteDatabase(
      file: file, exists: true, schema: nil, random: environment.random)
    defer { database.close() }
    _ = try database.administration().store.beginEpoch(
      NewEpoch(environment, because: .restored), after: nil)
  }
}
