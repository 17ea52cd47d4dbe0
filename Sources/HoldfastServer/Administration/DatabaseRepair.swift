import HoldfastCore
import HoldfastPostgresStore
import HoldfastSQLiteStore
public import HoldfastService

/// Mends what can be worked out again from the records: what zones hold, who has access, and in PostgreSQL the ledger, after triggers were switched off or
/// bypassed (docs/POSTGRES.md, section 4).
public struct DatabaseRepair {
  private let location: DatabaseLocation
  private let environment: ServerEnvironment

  /// The repair of the database at `location`.
  public init(_ location: DatabaseLocation, environment: ServerEnvironment = .system) {
    self.location = location
    self.environment = environment
  }

  /// Counts what the zones hold, in PostgreSQL after it has put missing triggers back, compared tables and ledger, and fed the difference to
  /// devices: one transaction, which keeps writers of the tables waiting. Then it gives everybody the access that members say, a zone at a time. Works
  /// while servers run.
  ///
  /// - Returns: a line for each table and zone in which something was repaired.
  public func run() throws -> [String] {
    var lines: [String]
    switch location {
    case .postgres(let location):
      lines = try PostgresOpening.open(location, schema: nil, heals: true, random: environment.random)
        .repaired
    case .directory(let path):
      let count = try SQLiteDatabase(in: DataDirectory(path: path), schema: nil, random: environment.random)
        .mendCounts()
      lines = count == 0 ? [] : ["repaired: what \(count) zones hold"]
    }
    let administration = try Administration(location, environment: environment)
    var users: TextMap<Int> = [:]
    for wrong in try administration.operators.wrongAccess() { users[wrong.zone, default: 0] += 1 }
    for zone in users.keys.sorted() {
      try administration.write(to: zone) { stores, _ in try stores.settleAccess(to: zone) }
      lines.append("repaired: access to the zone \(zone), \(users[zone, default: 0]) users")
    }
    return lines
  }
}
