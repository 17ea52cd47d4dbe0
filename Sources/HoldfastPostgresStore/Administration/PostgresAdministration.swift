package import HoldfastCore
import HoldfastPostgres
package import HoldfastService

/// Operator queries in PostgreSQL.
package final class PostgresAdministration: StoreAdministration {
  package var store: any StoreWriter { postgres }
  private let schema: SyncSchema
  private let layout: PostgresLayout
  private let postgres: PostgresStore
  var connection: PostgresConnection {
    get throws { try postgres.connection }
  }

  package init(_ store: PostgresStore, _ schema: SyncSchema, _ layout: PostgresLayout) {
    postgres = store
    self.schema = schema
    self.layout = layout
  }

  package func zones() throws -> [[String]] {
    try rows(
      """
      SELECT z.zone, CASE WHEN z.public THEN 'yes' ELSE 'no' END, z.seq::text, z.purged::text,
      (SELECT count(*) FROM holdfast.members m WHERE m.zone = z.zone)::text,
      (SELECT count(*) FROM holdfast.records r WHERE r.zone = z.zone AND r.state = 0
        AND r.record_table NOT IN ('members', 'conflicts'))::text, coalesce(z.left_for, '') FROM holdfast.zones z ORDER BY z.zone
      """)
  }

  package func users() throws -> [[String]] {
    try rows(
      """
      SELECT a.id, \(Self.name), \(Self.time("a.created_at")),
      (SELECT count(*) FROM holdfast.devices d WHERE d.account = a.id)::text FROM holdfast.accounts a ORDER BY a.name
      """)
  }

  package func devices() throws -> [[String]] {
    try rows(
      """
      SELECT d.id, \(Self.name), d.name, CASE WHEN \(KnownDevice.hasSession) THEN 'yes' ELSE 'no' END, d.confirmed::text,
      \(Self.time("d.seen_at")) FROM holdfast.devices d JOIN holdfast.accounts a ON a.id = d.account
      ORDER BY a.name, d.number
      """)
  }

  package func reset(_ device: String, zone: String?) throws -> Int {
    let numbers = try postgres.connection.query(
      PostgresPurgeStatements.findNumber, PostgresParameters(device))
    if numbers.isEmpty { return 0 }
    return try postgres.connection.query(
      PostgresPurgeStatements.resetAcks, PostgresParameters(numbers.int64(0, 0), zone)
    ).count
  }

  package func interruption() throws -> @Sendable () -> Void {
    let canceller = try postgres.connection.canceller
    return { _ = canceller.cancel() }
  }

  package func tokens() throws -> [[String]] {
    try rows(
      """
      SELECT d.id, a.name, d.scope, \(Self.time("d.seen_at")), CASE WHEN d.token_hash IS NULL THEN 'no' ELSE 'yes' END
      FROM holdfast.devices d JOIN holdfast.accounts a ON a.id = d.account WHERE d.scope IS NOT NULL ORDER BY a.name
      """)
  }

  package func user(ofDevice id: String) throws -> String? {
    try rows("SELECT account FROM holdfast.devices WHERE id = $1", PostgresParameters(id)).first?[0]
  }

  package func conflicts(limit: Int) throws -> [[String]] {
    try rows(
      """
      SELECT loser_at, zone, record_table, record_id, column_name, policy, coalesce(winner_value::text, CASE WHEN winner_at IS NULL THEN '(in the record)' ELSE '(deleted)' END),
      loser_value::text, coalesce(resolution, 'open') FROM holdfast.conflicts ORDER BY id DESC LIMIT $1
      """, PostgresParameters(Int64(limit)))
  }

  package func membership(of user: String, in zone: String) throws -> String? {
    try rows(
      "SELECT id FROM holdfast.members WHERE zone = $1 AND \"user\" = $2", PostgresParameters(zone, user)
    ).first?[0]
  }

  package func wrongAccess() throws -> [WrongAccess] {
    try rows(AccessQuery(schema).differences(from: "holdfast.access", zones: "holdfast.zones")).map {
      WrongAccess($0)
    }
  }

  /// Finds all inconsistencies in the database.
  package func doctor() throws -> [Finding] {
    try comparing {
      let actions = try ReferentialActions(schema, layout, on: connection)
      return try references() + ledger() + zoneRules() + places() + sequences() + owners() + counts()
        + PostgresStructure(in: connection).missing(on: connection)
        + actions.faults().map { Finding(.structure, "\($0.place): \($0.text)") }
        + StoredColumns(schema).replaced(on: connection).map {
          Finding(.ledger, "\($0.fault.place): \($0.text)")
        }
        + PostgresTeamTriggers.warnings(on: connection, actions)
        + DeviceNumbers.findings(on: connection)
    }
  }

  /// Runs what compares whole tables, at one moment. The lane's connection looks rows up by key, one by one: of thousands of rows of one zone
  /// that would be each with each.
  package func comparing<Found>(_ body: () throws -> Found) throws -> Found {
    let connection = try postgres.connection
    // A restore checks what it wrote before it commits, on a connection that plans as PostgreSQL would.
    if connection.transactionStatus != .idle { return try body() }
    try connection.execute(
      """
      BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on;
      SET LOCAL enable_nestloop = off
      """)
    do {
      let found = try body()
      try connection.execute("COMMIT")
      return found
    } catch {
      postgres.rollBack()
      throw error
    }
  }

  /// The ledger and the tables agree about the live records and their zones.
  private func ledger() throws -> [Finding] {
    var findings: [Finding] = []
    for relation in layout.relations {
      let table = PostgresName.literal(relation.table)
      let zone = relation.hasZone ? " AND t.zone = r.zone" : ""
      findings += try rows(
        """
        SELECT coalesce(r.id, \(relation.id("t"))), CASE WHEN r.id IS NULL THEN 'table' ELSE 'ledger' END FROM \(relation.name) t
        FULL JOIN (SELECT r.id, r.zone FROM holdfast.records r WHERE r.record_table = \(table) AND r.state = 0) r
        ON \(relation.id("t")) = r.id\(zone) WHERE r.id IS NULL OR t.id IS NULL
        """
      ).map {
        Finding(
          .ledger, "\(relation.table) \($0[0]) is in the \($0[1]) alone; `holdfast doctor --repair` mends it")
      }
      findings += try rows(
        "SELECT id, stamps, rev::text FROM holdfast.records WHERE record_table = \(table) AND state = 0"
      ).filter { !RecordStamps.isSound($0[1], rev: Int64($0[2]) ?? 0) }
        .map {
          Finding(.stamps, "those of \(relation.table) \($0[0]) can't be read, or are later than its rev")
        }
    }
    return findings
  }

  /// Finds records whose row is newer than their ledger row. The triggers and the service write both in one transaction, unless the write
  /// changes nothing that devices have. Also finds tables of others among Holdfast's own, and values that the schema does not allow.
  package func doubts() throws -> [Finding] {
    // A restore writes the tables after the ledger. `doctor` says that the database was put back.
    if try PostgresIdentity(connection).difference(connection) != nil { return [] }
    return try PostgresStrangers.doubts(on: connection)
      + comparing { try PostgresValueDoubts(schema, layout, on: connection).findings() }
      + layout.relations.flatMap { relation in
        try rows(
          """
          SELECT count(*)::text, min(r.id) FROM \(relation.name) t JOIN holdfast.records r
          ON r.record_table = \(PostgresName.literal(relation.table)) AND r.id = \(relation.id("t")) AND r.state = 0
          WHERE age(t.xmin) < least(age(r.xmin), \(PostgresIdentity.epochAge)) HAVING count(*) > 0
          """
        ).map {
          Finding(
            .ledger,
            """
            \($0[0]) records of \(relation.table), \($0[1]) among them, were written after the change feed says. If it was not by an UPDATE \
            that changed nothing that devices have, it was behind the triggers: `holdfast doctor --repair` feeds them
            """)
        }
      }
  }

  /// The counts of zones agree with the ledger, and the sizes in the ledger agree with the tables.
  package func counts() throws -> [Finding] {
    let sizes = try layout.relations.flatMap { relation in
      try PostgresCounting.wrongSizes(of: relation).map { try rows($0) } ?? []
    }
    let zones = try rows(
      "SELECT d.zone, d.held::text, d.size::text FROM (\(PostgresCounting.differences)) d")
    return sizes.map {
      Finding(.counts, "the ledger has another size of \($0[0]); `holdfast doctor --repair` mends it")
    }
      + zones.map {
        ZoneCounts(records: Int64($0[1]) ?? 0, bytes: Int64($0[2]) ?? 0).finding(of: $0[0])
      }
  }

  /// Each record is in the zone that its table's rule requires, where the record alone decides it.
  private func zoneRules() throws -> [Finding] {
    try schema.tables.flatMap { table -> [Finding] in
      let rule: String
      switch table.zone {
      case .root: rule = "r.zone <> r.id"
      case .public(let name): rule = "r.zone <> \(PostgresName.literal(name))"
      case .user: rule = "a.id IS NULL"
      case .parent, .explicit, .server: return []
      }
      return try rows(
        """
        SELECT r.id, r.zone FROM holdfast.records r LEFT JOIN holdfast.accounts a ON a.id = r.zone
        WHERE r.record_table = \(PostgresName.literal(table.name)) AND r.state = 0 AND \(rule)
        """
      ).map { Finding(.zone, "\(table.name) \($0[0]) is in the zone \($0[1]), where it does not belong") }
    }
  }

  /// A reference inside a zone names a record of that zone. For tables below a parent, it also decides the zone.
  private func places() throws -> [Finding] {
    try schema.links.filter(\.isInZone).flatMap { link in
      let (child, parent) = (layout.relations[link.table], layout.relations[link.target])
      let column = child.columns[link.column].bytes("t.")
      return try rows(
        """
        SELECT c.id, c.zone, p.zone FROM \(child.name) t
        JOIN holdfast.records c ON c.record_table = \(PostgresName.literal(child.table)) AND c.id = \(child.id("t")) AND c.state = 0
        JOIN holdfast.records p ON p.record_table = \(PostgresName.literal(parent.table)) AND p.id = \(column) AND p.state = 0
        WHERE p.zone <> c.zone
        """
      ).map { schema.strayFinding(link, $0[0], in: $0[1], besides: $0[2]) }
    }
  }

  private func references() throws -> [Finding] {
    try schema.links.flatMap { link in
      let (child, parent) = (layout.relations[link.table], layout.relations[link.target])
      let column = child.columns[link.column].bytes("t.")
      return try rows(
        """
        SELECT t.id::text FROM \(child.name) t LEFT JOIN \(parent.name) p ON \(parent.id("p")) = \(column)
        WHERE \(column) IS NOT NULL AND p.id IS NULL
        """
      ).map { _ in
        Finding(.reference, "a record of \(child.table) refers to one of \(parent.table) that is not there")
      }
    }
  }

  private func sequences() throws -> [Finding] {
    let beyond = try rows(
      """
      SELECT r.zone, max(r.seq)::text FROM holdfast.records r LEFT JOIN holdfast.zones z ON z.zone = r.zone
      WHERE z.seq IS NULL OR r.seq > z.seq OR r.seq < 1 GROUP BY r.zone
      """)
    // The zone's last seq belongs to its last change, which nothing but a purge can remove.
    let behind = try rows(
      """
      SELECT z.zone, z.seq::text FROM holdfast.zones z LEFT JOIN holdfast.records r ON r.zone = z.zone AND r.seq = z.seq
      WHERE z.seq > z.purged AND r.seq IS NULL AND NOT EXISTS (SELECT FROM holdfast.moves v WHERE v.zone = z.zone)
      """)
    let purged = try rows(
      """
      SELECT r.zone, min(r.seq)::text FROM holdfast.records r JOIN holdfast.zones z ON z.zone = r.zone
      WHERE r.state > 0 AND r.seq <= z.purged AND NOT EXISTS (SELECT FROM holdfast.moves v WHERE v.zone = z.zone) GROUP BY r.zone
      """)
    return beyond.map { Finding(.seq, "\($0[1]) of zone \($0[0]) is beyond its zone") }
      + behind.map { Finding(.seq, "\($0[1]) of zone \($0[0]) has no record") }
      + purged.map { Finding(.seq, "\($0[1]) of zone \($0[0]) is a tombstone that nobody is sent") }
  }

  package func usersWithoutOwnZone() throws -> [String] {
    try rows(
      """
      SELECT a.id FROM holdfast.accounts a JOIN holdfast.zones z ON z.zone = a.id WHERE a.erasure = 0
      AND NOT EXISTS (SELECT 1 FROM holdfast.members m WHERE m.zone = a.id AND m."user" = a.id AND m.role = 'owner'
        AND m.invited_by IS NULL) AND NOT EXISTS (SELECT 1 FROM holdfast.guests g WHERE g.account = a.id) ORDER BY a.id
      """
    ).map { $0[0] }
  }

  /// A root record that plain SQL inserted without an owner has no member until one is added. Such zones are not reported.
  private func owners() throws -> [Finding] {
    let roots = zip(schema.tables, layout.relations).filter { $0.0.zone == .root }
      .map { "SELECT \($0.1.id("t")) FROM \($0.1.name) t" }
    let own = try usersWithoutOwnZone().map(Finding.init(withoutOwnZone:))
    if roots.isEmpty { return own }
    let live = roots.joined(separator: " UNION ALL ")
    return try own
      + rows(
        """
        SELECT zone FROM holdfast.zones z WHERE NOT public AND zone IN (\(live))
        AND NOT EXISTS (SELECT 1 FROM holdfast.members m WHERE m.zone = z.zone AND m.role = 'owner' AND m."user" IS NOT NULL
          AND m.invited_by IS NULL)
        AND NOT EXISTS (SELECT 1 FROM holdfast.records r WHERE r.zone = z.zone AND r.id = z.zone AND r.state = 0
          AND split_part(r.stamps, ';', 1) LIKE '%.0'
          AND NOT EXISTS (SELECT 1 FROM holdfast.members m WHERE m.zone = z.zone))
        """
      ).map { Finding(.owner, "the zone \($0[0]) has none") }
  }

  /// The name of an account `a`, or the state of its erasure.
  private static let name =
    "CASE a.erasure WHEN 0 THEN a.name WHEN 1 THEN '(being erased)' ELSE '(erased)' END"

  private static func time(_ column: String) -> String {
    "to_char(to_timestamp(\(column) / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"
  }

  func rows(_ sql: String, _ parameters: PostgresParameters = PostgresParameters()) throws
    -> [[String]]
  {
    let rows = try postgres.connection.query(PostgresStatement(sql), parameters)
    return rows.indices.map { row in
      (0..<rows.columnCount).map { rows.optionalText(row, $0) ?? "" }
    }
  }
}
