import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Reads the changes of zones in seq order: a stretch of the ledger at a time, with the values of its records.
///
/// The ledger says which tables the records are in. The first pipeline reads the tables that the zone had before. A second one in the same
/// transaction reads the others, if there are any.
struct PostgresChangeFeed: Sendable {
  final class Source: Sendable {
    /// The name of the table.
    let table: String
    /// The same in UTF-8.
    let utf8: [UInt8]
    /// The same as JSON.
    let name: [UInt8]
    let columns: [(key: JSONKeyFragment, type: ColumnType, isOmittedIfNull: Bool)]
    /// Reads the values of the table's records in stretches.
    let values: PostgresStatement
    /// Reads the values of the zone `$1` with ids from `$2` to `$3`, of at most `$4` records in between; nil for a table that orders its ids
    /// otherwise than by their bytes.
    let scan: PostgresStatement?
    /// Reads stretches of the ledger with the values of the table's records: of one zone, and of many.
    let joined: (one: PostgresStatement, many: PostgresStatement)

    fileprivate init(_ table: TableSchema, _ relation: PostgresLayout.Relation) {
      (self.table, utf8) = (table.name, Array(table.name.utf8))
      name = JSONValue.string(table.name).bytes
      columns = table.columns.map { (JSONKeyFragment($0.name), $0.type, $0.isOmittedIfNull) }
      values = PostgresChangeFeed.values(of: relation)
      scan = PostgresChangeFeed.scan(of: relation)
      joined = (
        PostgresChangeFeed.joined(relation, "1::bigint", PostgresChangeFeed.one, by: "r.seq"),
        PostgresChangeFeed.joined(relation, "w.n", PostgresChangeFeed.many, by: "w.n, r.seq")
      )
    }
  }

  /// How many changes of each zone are read at once.
  static let size = 1024
  /// A zone with at most this many changes is read in one pipeline with the device, so from one snapshot without a transaction.
  static let few: Int64 = 256

  static let begin: PostgresStatement = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
  static let end: PostgresStatement = "COMMIT"
  /// The reader's role. The server itself has no user, and may read all.
  static let role =
    "coalesce(m.role, CASE WHEN z.public THEN 'viewer' END, CASE WHEN $2 IS NULL THEN 'owner' END, '')"
  static let ledger = "r.seq, r.record_table, r.id, r.rev, r.state, r.stamp"
  private static let one =
    "FROM (SELECT * FROM holdfast.records r WHERE r.zone = $1 AND r.seq > $2 ORDER BY r.seq LIMIT $3) r"
  private static let many = """
    FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS w (zone, after, n) CROSS JOIN LATERAL (
      SELECT * FROM holdfast.records r WHERE r.zone = w.zone AND r.seq > w.after ORDER BY r.seq LIMIT $3
    ) r
    """
  private static let findPlaces = (
    one: PostgresStatement("SELECT 1::bigint, \(ledger) \(one) ORDER BY r.seq"),
    many: PostgresStatement("SELECT w.n, \(ledger) \(many) ORDER BY w.n, r.seq")
  )

  private static let findZone = PostgresStatement(
    """
    SELECT z.zone, z.seq, z.purged, \(role)
    FROM holdfast.zones z LEFT JOIN holdfast.access m ON m.zone = z.zone AND m."user" = $2 WHERE z.zone = $1
    """)

  /// By table name.
  let sources: TextMap<Source>
  /// Records the mismatches between ledger and tables.
  let mismatches: PostgresMismatches
  /// The tables that zones had before.
  let hints = PostgresFeedHints()

  init(_ schema: SyncSchema, _ layout: PostgresLayout, _ mismatches: PostgresMismatches) {
    self.mismatches = mismatches
    var sources: TextMap<Source> = [:]
    for (table, relation) in zip(schema.tables, layout.relations) {
      sources[table.name] = Source(table, relation)
    }
    self.sources = sources
  }

  private static func join(_ relation: PostgresLayout.Relation, id: String = "r.id") -> String {
    """
    JOIN \(relation.name) t ON t.id = \(id)\(relation.idKey)\(relation.hasZone ? " AND t.zone = r.zone" : "")
    """
  }

  private static func joined(
    _ relation: PostgresLayout.Relation, _ number: String, _ stretch: String, by order: String
  ) -> PostgresStatement {
    // The ids of other tables' rows may have no form of this table's type. Only CASE is sure to keep them from the cast.
    let own =
      "(CASE WHEN r.state = 0 AND r.record_table = \(PostgresName.literal(relation.table)) THEN r.id END)"
    return PostgresStatement(
      """
      SELECT \(number), \(ledger), t.id IS NOT NULL\(relation.columns.map { ", \($0.read)" }.joined()) \(stretch)
      LEFT \(join(relation, id: own)) ORDER BY \(order)
      """)
  }

  private static func values(of relation: PostgresLayout.Relation) -> PostgresStatement {
    PostgresStatement(
      """
      SELECT w.n, r.seq\(relation.columns.map { ", \($0.read)" }.joined()) \(many) \(join(relation))
      WHERE r.state = 0 AND r.record_table = \(PostgresName.literal(relation.table)) ORDER BY w.n, r.seq
      """)
  }

  private static func scan(of relation: PostgresLayout.Relation) -> PostgresStatement? {
    guard relation.hasZone, relation.idKey.isEmpty else { return nil }
    return PostgresStatement(
      """
      SELECT t.id\(relation.columns.map { ", \($0.read)" }.joined()) FROM (
        SELECT * FROM \(relation.name) t WHERE t.id >= $2 AND t.id <= $3 ORDER BY t.id LIMIT $4
      ) t WHERE t.zone = $1 ORDER BY t.id
      """)
  }

  /// A zone's current state; nil for an unknown zone.
  func zone(_ zone: String, for user: String?, on connection: PostgresConnection) throws
    -> ZoneProgress?
  {
    let rows = try connection.query(Self.findZone, PostgresParameters(zone, user))
    if rows.isEmpty { return nil }
    return ZoneProgress(
      zone: zone, ack: ZoneAck(zone: zone, epoch: "", seq: 0), isStored: false,
      seq: rows.int64(0, 1), purged: rows.int64(0, 2), role: rows.text(0, 3), wasLost: false)
  }

  /// Requested stretches, by the numbers of their statements in a pipeline.
  struct Asked {
    fileprivate struct Group {
      let members: [Int]
      let joined: String?
      let places: Int
      var values: [(table: String, number: Int)] = []
    }

    fileprivate var groups: [Group] = []
    fileprivate let size: Int
  }

  /// Sends the statements that read the first changes of zones.
  ///
  /// - Parameter isLast: whether no later statement can read the same snapshot. All tables in which the zones had records before are read then.
  func ask(_ zones: [ZoneProgress], size: Int, isLast: Bool, _ pipe: PostgresPipeline) -> Asked {
    let known = hints.tables(of: zones.map(\.zone))
    var asked = Asked(size: size)
    let groups = TextMap(zones.indices.map { (known[$0].first ?? "", [$0]) }, uniquingKeysWith: +)
    for (main, members) in groups.sorted(by: { $0.key < $1.key }) {
      let source = sources[main]
      let statements = source?.joined ?? Self.findPlaces
      var group = Asked.Group(
        members: members, joined: source == nil ? nil : main,
        places: members.count == 1
          ? pipe.send(
            statements.one, PostgresParameters(zones[members[0]].zone, zones[members[0]].ack.seq, Int64(size))
          )
          : pipe.send(statements.many, Self.wanted(members.map { zones[$0] }, size)))
      if isLast {
        let others = source == nil ? sources.keys.sorted() : TextSet(members.flatMap { known[$0] }).sorted()
        for table in others where table != main {
          guard let source = sources[table] else { continue }
          let number = pipe.send(source.values, Self.wanted(members.map { zones[$0] }, size))
          group.values.append((table, number))
        }
      }
      asked.groups.append(group)
    }
    return asked
  }

  /// Sends the statement that reads the next changes of a zone without values.
  func askLedger(_ zone: ZoneProgress, _ pipe: PostgresPipeline) -> Asked {
    let parameters = PostgresParameters(zone.zone, zone.ack.seq, Int64(Self.size))
    let number = pipe.send(Self.findPlaces.one, parameters)
    return Asked(groups: [.init(members: [0], joined: nil, places: number)], size: Self.size)
  }

  /// Sends the statement that reads the values of one table's records among the next changes of a zone.
  ///
  /// - Returns: the index of its rows; nil for an unknown table.
  func askValues(of table: String, _ zone: ZoneProgress, _ size: Int, _ pipe: PostgresPipeline) -> Int? {
    sources[table].map { pipe.send($0.values, Self.wanted([zone], size)) }
  }

  private static func wanted(_ zones: [ZoneProgress], _ size: Int) -> PostgresParameters {
    var wanted = PostgresParameters()
    wanted.append(array: zones.lazy.map(\.zone))
    wanted.append(array: zones.lazy.map(\.ack.seq))
    wanted.append(Int64(size))
    return wanted
  }

  /// The requested stretches, from the answers. Values of some tables may be missing.
  func stretches(_ asked: Asked, of zones: [ZoneProgress], _ answers: [PostgresRows]) -> [PostgresStretch] {
    var stretches: [Int: PostgresStretch] = [:]
    for group in asked.groups {
      let places = answers[group.places]
      let ranges = Self.ranges(places, group.members.count)
      let values = group.values.map {
        ($0.table, answers[$0.number], Self.ranges(answers[$0.number], group.members.count))
      }
      for (place, member) in group.members.enumerated() {
        var stretch = PostgresStretch(
          zone: zones[member], places: places, rows: ranges[place], joined: group.joined,
          isCut: ranges[place].count == asked.size)
        for (table, rows, ranges) in values {
          stretch.values[table] = .init(rows: rows, rest: ranges[place])
        }
        stretches[member] = stretch
      }
    }
    return zones.indices.compactMap { stretches[$0] }
  }

  /// Reads the first changes of zones; in a transaction.
  ///
  /// - Parameter work: runs while the database reads.
  func read(
    _ zones: [ZoneProgress], size: Int = PostgresChangeFeed.size,
    on connection: PostgresConnection, meanwhile work: () -> Void = {}
  ) throws -> [PostgresStretch] {
    var asked = Asked(size: size)
    let answers = try connection.pipeline(
      { asked = ask(zones, size: size, isLast: false, $0) }, meanwhile: work)
    var stretches = stretches(asked, of: zones, answers)
    var missing: TextMap<[Int]> = [:]
    for (index, stretch) in stretches.enumerated() {
      for table in missingTables(of: stretch) { missing[table, default: []].append(index) }
    }
    if missing.isEmpty { return stretches }
    let tables = missing.sorted { $0.key < $1.key }
    let values = try connection.pipeline { pipe in
      for (table, members) in tables {
        if let source = sources[table] {
          pipe.send(source.values, Self.wanted(members.map { zones[$0] }, size))
        }
      }
    }
    for ((table, members), rows) in zip(tables, values) {
      for (member, range) in zip(members, Self.ranges(rows, members.count)) {
        stretches[member].values[table] = .init(rows: rows, rest: range)
      }
    }
    return stretches
  }

  /// The tables with live records in a stretch whose values were not read. Notes the tables of the zone for the next read.
  func missingTables(of stretch: PostgresStretch) -> [String] {
    let tables = stretch.tables.filter { sources[$0] != nil }
    hints.note(tables, in: stretch.zone)
    return tables.filter { $0 != stretch.joined && stretch.values[$0] == nil }
  }

  /// The range of rows of each zone. The rows are sorted by the zone's number, which starts at 1.
  private static func ranges(_ rows: PostgresRows, _ count: Int) -> [Range<Int>] {
    if count == 1 { return [rows.indices] }
    var ranges = [Range<Int>](repeating: 0..<0, count: count)
    var start = 0
    for row in rows.indices {
      let number = rows.int64(row, 0)
      if row + 1 < rows.count, rows.int64(row + 1, 0) == number { continue }
      if ranges.indices.contains(Int(number) - 1) { ranges[Int(number) - 1] = start..<row + 1 }
      start = row + 1
    }
    return ranges
  }
}
