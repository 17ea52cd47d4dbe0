/// Brings the ledger of a PostgreSQL database to what its tables say, after triggers were switched off or bypassed: docs/POSTGRES.md, section 4.
public struct LedgerRepair {
  private let location: DatabaseLocation
  private let environment: ServerEnvironment

  /// The repair of the database at `location`.
  public init(_ location: DatabaseLocation, environment: ServerEnvironment = .system) {
    self.location = location
    self.environment = environment
  }

  /// Puts missing triggers back, compares tables and ledger, and feeds the difference to devices. One transaction, which keeps writers of the
  /// tables waiting; works while servers run.
  ///
  /// - Returns: a line for each table in which something was repaired.
  /// - Throws: `ServerError.refused` where there is no ledger beside the tables, or no trigger; nothing has changed then.
  public func run() throws -> [String] {
    guard case .postgres(let location) = location, !location.isDistributed else {
      throw ServerError(
        .refused,
        "There is nothing to repair: SQLite has no ledger beside its tables, and on Citus nobody writes round the server."
      )
    }
    return try PostgresOpening.open(location, schema: nil, heals: true, random: environment.random).repaired
  }
}
