public import HoldfastCore
import HoldfastSQLite

/// What an operator looks at and does in the database of a data directory, also while a server runs on it.
public final class Administration {
  /// Rows of text, for a table on a terminal.
  public struct Listing: Sendable, Equatable {
    /// The names of the columns.
    public let columns: [String]
    /// The rows, each as long as `columns`.
    public let rows: [[String]]
  }

  let connection: Connection
  let schema: Schema
  private let environment: ServerEnvironment

  /// Opens the database of a data directory.
  ///
  /// - Throws: `ServerError` when there is none, or it is not ours.
  public init(data: String, environment: ServerEnvironment = .system) throws {
    let directory = DataDirectory(path: data)
    let database = try ServerDatabase(in: directory, schema: nil, random: environment.random)
    connection = try database.writer()
    schema = database.schema
    self.environment = environment
  }

  /// All zones, with how many members and records they have.
  public func zones() throws -> Listing {
    let records = schema.tables.filter { !$0.isBuiltIn }
      .map { "(SELECT count(*) FROM \"\($0.name)\" r WHERE r.zone = z.zone)" }.joined(separator: " + ")
    return try listing(
      ["zone", "public", "seq", "members", "records"],
      """
      SELECT z.zone, CASE z.public WHEN 1 THEN 'yes' ELSE 'no' END, z.seq,
      (SELECT count(*) FROM members m WHERE m.zone = z.zone), \(records) FROM holdfast_zones z ORDER BY z.zone
      """)
  }

  /// All accounts.
  public func users() throws -> Listing {
    try listing(
      ["user", "name", "created", "devices"],
      """
      SELECT a.id, a.name, strftime('%Y-%m-%dT%H:%M:%SZ', a.created_at / 1000, 'unixepoch'),
      (SELECT count(*) FROM holdfast_devices d WHERE d.user = a.id) FROM holdfast_accounts a ORDER BY a.name
      """)
  }

  /// All devices.
  public func devices() throws -> Listing {
    try listing(
      ["device", "user", "name", "signed in", "operations", "last written"],
      """
      SELECT d.id, a.name, d.name, CASE WHEN d.token_hash IS NULL THEN 'no' ELSE 'yes' END, d.confirmed,
      strftime('%Y-%m-%dT%H:%M:%SZ', d.seen_at / 1000, 'unixepoch')
      FROM holdfast_devices d JOIN holdfast_accounts a ON a.id = d.user ORDER BY a.name, d.number
      """)
  }

  /// Edits that met, newest first.
  ///
  /// - Parameter limit: how many at the most.
  public func conflicts(limit: Int = 100) throws -> Listing {
    try listing(
      ["at", "zone", "table", "record", "column", "policy", "winner", "loser"],
      """
      SELECT loser_at, zone, record_table, record_id, column_name, policy, coalesce(winner_value, '(deleted)'),
      loser_value FROM conflicts ORDER BY id DESC LIMIT ?
      """, [.integer(Int64(limit))])
  }

  /// Makes a user a member of a zone, or changes the role of one.
  ///
  /// It is written as every other change of members: devices see it with their next sync.
  /// - Throws: `ServerError.notFound` when there is no such zone or user; `refused` when the zone would lose its last
  ///   owner.
  public func grant(zone: String, name: String, role: Role) throws {
    let stores = try RecordStores(schema, on: connection, random: environment.random)
    try connection.transaction(.immediate) {
      stores.ledger.beginBatch()
      guard try stores.ledger.exists(zone) else {
        throw ServerError(.notFound, "There is no zone \(zone). `holdfast zones` lists them.")
      }
      guard let user = try stores.user(named: name) else {
        throw ServerError(.notFound, "There is no user \(name). `holdfast users` lists them.")
      }
      let latest = try connection.value("SELECT max(clock) FROM holdfast_devices")?.integer ?? 0
      let now = Stamp(rawValue: latest).next(milliseconds: environment.now())
      let author = Author(device: 0, user: user, clock: now)
      let id = try connection.value(
        "SELECT id FROM members WHERE zone = ? AND user = ?", [.text(zone), .text(user)])?.text
      if let id, let member = try stores.tables[stores.members].record(id) {
        do { try ChangeSetRun([], by: author, on: stores).setRole(role, of: member) } catch let problem
          as Problem
        {
          throw ServerError(.refused, problem.description)
        }
      } else {
        try stores.addMember(user, named: name, role: role, to: zone, by: author)
      }
      try stores.ledger.flush()
    }
  }

  private func listing(_ columns: [String], _ sql: String, _ values: [SQLiteValue] = []) throws -> Listing {
    let rows = try connection.rows(sql, values).map { row in
      row.map { value in
        switch value {
        case .null: ""
        case .integer(let number): String(number)
        case .real(let number): String(number)
        case .text(let text): text
        case .blob(let bytes): "(\(bytes.count) bytes)"
        }
      }
    }
    return Listing(columns: columns, rows: rows)
  }
}
