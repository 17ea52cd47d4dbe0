package import HoldfastCore
package import HoldfastPostgres
import HoldfastService

/// Reads and writes tables in a single database, in bulk.
final class PostgresWholeWriting: PostgresWriting {
  private unowned let store: PostgresStore
  private let findWhere: [[PostgresStatement?]]
  private let findSame: [[PostgresStatement]]

  private static let findClock: PostgresStatement = """
    SELECT greatest((SELECT coalesce(max(clock), 0) FROM holdfast.zones),
      (SELECT coalesce(max(clock), 0) FROM holdfast.devices))
    """
  private static let putNotified: PostgresStatement = """
    INSERT INTO holdfast.notified AS t (zone, seq) SELECT * FROM unnest($1::text[], $2::bigint[])
    ON CONFLICT (zone) DO UPDATE SET seq = greatest(t.seq, excluded.seq)
    """
  private static let addDevice: PostgresStatement = """
    INSERT INTO holdfast.devices (id, account, name, token_hash, clock, seen_at, session_at, scope, issued_after)
    VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8)
    """
  private static let findSession: PostgresStatement =
    "SELECT session, session_used, applied FROM holdfast.devices WHERE id = $1 AND account = $2 FOR NO KEY UPDATE"
  private static let changeSession: PostgresStatement = """
    UPDATE holdfast.devices SET token_hash = $1, name = $2, seen_at = $3, session_at = $3, session = $4, session_used = false
    WHERE id = $5
    """

  init(_ store: PostgresStore) {
    self.store = store
    let tables = zip(store.schema.tables, store.layout.relations)
    findWhere = tables.map { _, relation in
      relation.columns.map { column in
        column.type.postgresElement != "text"
          ? nil
          : PostgresStatement(
            """
            SELECT t.id::text, u.value FROM unnest($1::text[]) AS u (value)
            JOIN \(relation.name) t ON t.\(column.name) = u.value\(column.cast) LIMIT $2
            """)
      }
    }
    findSame = tables.map { table, relation in
      table.unique.map { group in
        let same = group.enumerated().map { place, name in
          let column = relation.columns[table.index(of: name) ?? 0]
          return " AND t.\(column.name) = $\(place + 2)\(column.cast)"
        }
        return PostgresStatement(
          """
          SELECT r.id FROM \(relation.name) t
          JOIN holdfast.records r ON r.record_table = \(PostgresName.literal(relation.table)) AND r.id = t.id::text
          WHERE r.zone = $1 AND r.state = 0\(same.joined())
          """)
      }
    }
  }

  func isLateLock(_ error: PostgresError) -> Bool { false }

  func latestClock() throws -> Stamp {
    Stamp(rawValue: try store.connection.query(Self.findClock).int64(0, 0))
  }

  func fetch(_ footprints: [Footprint]) throws(PostgresError) -> Fetched {
    try store.fetch(footprints)
  }

  func read(_ ids: [String], of table: Int) throws -> [RecordEntry] {
    var parameters = PostgresParameters()
    parameters.append(array: ids)
    let rows = try store.connection.query(store.statements.records[table].find, parameters)
    return store.entries(rows, of: table, ids)
  }

  func write(_ delta: Delta, andCommit changes: ZoneChanges?) throws(PostgresError) {
    try store.write(delta, andCommit: changes)
  }

  func references(
    of table: Int, by column: Int, to values: [String], limit: Int, zones: (String) -> [String]
  ) throws -> [(id: String, value: String)] {
    guard let statement = findWhere[table][column] else { return [] }
    var parameters = PostgresParameters()
    parameters.append(array: values)
    parameters.append(Int64(limit))
    let rows = try store.connection.query(statement, parameters)
    return rows.indices.map { (rows.text($0, 0), rows.text($0, 1)) }
  }

  func ids(of table: Int, sharing group: Int, _ values: [Value], in zone: String) throws -> [String] {
    let parameters = PostgresParameters(zone, values, of: store.schema.tables[table], group)
    return try store.connection.query(findSame[table][group], parameters).texts
  }

  func setNotified(_ zones: [NotifiedZone]) throws {
    var parameters = PostgresParameters()
    parameters.append(array: zones.lazy.map(\.zone))
    parameters.append(array: zones.lazy.map(\.seq))
    try store.connection.run(Self.putNotified, parameters)
  }

  func device(_ number: Int64) throws -> DeviceRow? {
    var numbers = PostgresParameters()
    numbers.append(array: [number])
    let answers = try store.connection.pipeline { pipe in
      pipe.send(store.statements.lockDevices, numbers)
      pipe.send(PostgresStatements.findRefusals, numbers)
      pipe.send(PostgresStatements.countAcks, numbers)
    }
    return DeviceRow(answers)
  }

  func add(_ device: NewDevice) throws {
    try store.connection.run(
      Self.addDevice,
      PostgresParameters(
        device.id, device.user, device.name, device.token.withBytes { Array($0) }, device.clock.rawValue,
        device.seenAt, device.scope, device.issuedAfter))
  }

  func session(of device: String, user: String) throws -> LastSession? {
    LastSession(try store.connection.query(Self.findSession, PostgresParameters(device, user)))
  }

  func beginSession(_ number: Int64, of device: String, name: String, token: TokenHash, at now: Int64) throws
  {
    try store.connection.run(
      Self.changeSession,
      PostgresParameters(token.withBytes { Array($0) }, name, now, number, device))
  }
}

extension PostgresRows {
  /// The texts of the first column.
  package var texts: [String] { indices.map { text($0, 0) } }
}

extension PostgresParameters {
  /// A zone, and the values of a unique group of a table.
  package init(_ zone: String, _ values: [Value], of table: TableSchema, _ group: Int) {
    self.init(zone)
    for (name, value) in zip(table.unique[group], values) {
      if let column = table.index(of: name) { append(value, table.columns[column].type) }
    }
  }
}
