import HoldfastCore
import HoldfastPostgresStore
import HoldfastSQLiteStore
public import HoldfastService

/// Recomputes derived data from the records: zone counts and access, and in PostgreSQL the ledger after triggers were disabled or bypassed
/// (docs/POSTGRES.md, section 4).
public struct DatabaseRepair {
  private let location: DatabaseLocation
  private let environment: ServerEnvironment

  /// Creates the repair of the database at `location`.
  public init(_ location: DatabaseLocation, environment: ServerEnvironment = .system) {
    self.location = location
    self.environment = environment
  }

  /// Repairs the database while servers run. One transaction recounts the zones. In PostgreSQL it first restores missing triggers, compares
  /// tables and ledger, and records the difference as changes for devices. It blocks writers of the tables. Then access is recomputed from
  /// the memberships, and users get their own zones back, one zone per transaction.
  ///
  /// - Returns: one line for each repaired table and zone.
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
    for user in try administration.operators.usersWithoutOwnZone() {
      try administration.write(to: user) { stores, now in try stores.makeOwner(user, of: user, at: now) }
      lines.append("repaired: the user \(user) is an owner of the own zone again")
    }
    return lines
  }
}
