import HoldfastCore
import HoldfastSQLite

/// The zones and roles in SQLite: the statements, prepared once. The one writer has the whole database.
final class SQLiteZones: ZoneTable {
  private let find: Statement
  private let findRole: Statement
  private let findOwner: Statement
  private let addZone: Statement
  private let write: Statement
  private let writeTold: Statement

  init(on connection: Connection) throws {
    find = try connection.statement("SELECT seq, public FROM holdfast_zones WHERE zone = ?")
    findRole = try connection.statement("SELECT role FROM members WHERE zone = ? AND user = ?")
    findOwner = try connection.statement("SELECT 1 FROM members WHERE zone = ? AND role = 'owner' LIMIT 1")
    addZone = try connection.statement("INSERT INTO holdfast_zones (zone, seq) VALUES (?, 0)")
    writeTold = try connection.statement(
      """
      INSERT INTO holdfast_told (zone, seq) VALUES (?, ?)
      ON CONFLICT (zone) DO UPDATE SET seq = max(seq, excluded.seq)
      """)
    write = try connection.statement("UPDATE holdfast_zones SET seq = ? WHERE zone = ?")
  }

  func zone(_ name: String) throws -> (seq: Int64, isPublic: Bool)? {
    try find.bind(name, at: 1)
    defer { find.reset() }
    return try find.step() ? (find.integer(0), find.integer(1) == 1) : nil
  }

  func add(_ name: String) throws {
    try addZone.bind(name, at: 1)
    try addZone.run()
  }

  func setSeq(_ seq: Int64, of name: String, clock: Stamp) throws {
    try write.bind(seq, at: 1)
    try write.bind(name, at: 2)
    try write.run()
  }

  func setTold(_ zones: [ToldZone]) throws {
    for zone in zones {
      try writeTold.bind(zone.zone, at: 1)
      try writeTold.bind(zone.seq, at: 2)
      try writeTold.run()
    }
  }

  func role(of user: String, in zone: String) throws -> Role? {
    try findRole.bind(zone, at: 1)
    try findRole.bind(user, at: 2)
    return try findRole.firstText().flatMap(Role.init)
  }

  func hasOwner(_ zone: String) throws -> Bool {
    try findOwner.bind(zone, at: 1)
    return try findOwner.hasRow()
  }
}
