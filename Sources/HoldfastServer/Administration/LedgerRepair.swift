/// Brings what is kept beside the tables to what they say: what zones hold, and the ledger of a PostgreSQL database after triggers were switched
/// off or bypassed (docs/POSTGRES.md, section 4).
public struct LedgerRepair {
  private let location: DatabaseLocation
  private let environment: ServerEnvironment

  /// The repair of the database at `location`.
  public init(_ location: DatabaseLocation, environment: ServerEnvironment = .system) {
    self.location = location
    self.environment = environment
  }

  /// Counts what the zones hold. In PostgreSQL it first puts missing triggers back, compares tables and ledger, and feeds the difference to
  /// devices. One transaction, which keeps writers of the tables waiting; works while servers run.
  ///
  /// - Returns: a line for each table in which something was repaired, and one for the zones.
  public func run() throws -> [String] {
    switch location {
    case .postgres(let location):
      return try PostgresOpening.open(location, schema: nil, heals: true, random: environment.random).repaired
    case .directory(let path):
      let database = try SQLiteDatabase(
        in: DataDirectory(path: path), schema: nil, random: environment.random)
      let count = try database.mendCounts()
      return count == 0 ? [] : ["repaired: what \(count) zones hold"]
    }
  }
}
