import HoldfastCore
package import HoldfastPostgres
package import HoldfastService

/// Writes the changes of a zone in seq order. Reads a stretch of the ledger at a time, with the values of its records, and writes from
/// libpq's memory directly into JSON.
struct PostgresChangeFeed: Sendable {
  struct Source: Sendable {
    let statement: PostgresStatement
    let columns: [(key: JSONKeyFragment, type: ColumnType)]
    /// The table's name as JSON.
    let name: [UInt8]
  }

  /// Consecutive changes of a zone, and the zone's state in the same snapshot.
  struct Stretch {
    let zone: ZoneProgress
    let places: PostgresRows
    /// The zone's rows in `places`.
    var rows: Range<Int>
    /// The values of the live records, by table.
    var values: TextMap<Cursor> = [:]
    /// Whether the read stopped at its limit.
    let isCut: Bool
  }

  /// Rows of values, and the next one to write.
  struct Cursor {
    let rows: PostgresRows
    var next: Int
  }

  /// The number of changes per zone in the first read, and the maximum of later ones.
  static let first = 256
  private static let most = 4096

  static let begin: PostgresStatement = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
  static let end: PostgresStatement = "COMMIT"
  /// The reader's role. The server itself has no user, and may read all.
  static let role =
    "coalesce(m.role, CASE WHEN z.public THEN 'viewer' END, CASE WHEN $2 IS NULL THEN 'owner' END, '')"
  private static let findZones = PostgresStatement(
    """
    SELECT z.zone, z.seq, z.purged, \(PostgresChangeFeed.role)
    FROM holdfast.zones z LEFT JOIN holdfast.access m ON m.zone = z.zone AND m."user" = $2 WHERE z.zone = ANY ($1)
    """)
  private static let wanted = """
    FROM unnest($1::text[], $2::bigint[]) AS w (zone, after) CROSS JOIN LATERAL (
      SELECT * FROM holdfast.records r WHERE r.zone = w.zone AND r.seq > w.after ORDER BY r.seq LIMIT $3
    ) r
    """
  private static let findPlaces = PostgresStatement(
    "SELECT r.zone, r.seq, r.record_table, r.id, r.rev, r.state, r.stamp \(wanted) ORDER BY r.zone, r.seq")

  /// By table name.
  let sources: TextMap<Source>
  /// Records the mismatches between ledger and tables.
  let mismatches: PostgresMismatches
  /// Whether zones may be on different shards.
  private let isDistributed: Bool

  init(_ schema: SyncSchema, _ layout: PostgresLayout, _ mismatches: PostgresMismatches) {
    self.mismatches = mismatches
    var sources: TextMap<Source> = [:]
    for (table, relation) in zip(schema.tables, layout.relations) {
      let columns = relation.columns.map { ", \($0.read)" }.joined()
      sources[table.name] = Source(
        statement: layout.isDistributed
          ? Self.values(of: relation)
          : PostgresStatement(
            """
            SELECT r.zone, r.seq\(columns) \(Self.wanted) JOIN \(relation.name) t
            ON t.id = r.id\(relation.idKey)\(relation.hasZone ? " AND t.zone = r.zone" : "")
            WHERE r.state = 0 AND r.record_table = \(PostgresName.literal(table.name)) ORDER BY r.zone, r.seq
            """),
        columns: table.columns.map { (JSONKeyFragment($0.name), $0.type) },
        name: JSONValue.string(table.name).bytes)
    }
    self.sources = sources
    isDistributed = layout.isDistributed
  }

  /// Reads the first changes of each zone, in two round trips.
  ///
  /// - Parameters:
  ///   - user: the reader; nil for the server itself.
  ///   - size: the maximum number of changes per zone.
  ///   - isHeld: whether a transaction is already open.
  func read(
    _ zones: [ZoneProgress], for user: String?, size: Int, isHeld: Bool, on connection: PostgresConnection
  ) throws -> [Stretch] {
    try isDistributed
      ? readEach(zones, for: user, size: size, isHeld: isHeld, on: connection)
      : readTogether(zones, for: user, size: size, isHeld: isHeld, on: connection)
  }

  /// Reads the first changes of each zone, all in one snapshot.
  private func readTogether(
    _ zones: [ZoneProgress], for user: String?, size: Int, isHeld: Bool, on connection: PostgresConnection
  ) throws -> [Stretch] {
    var (names, wanted) = (PostgresParameters(), PostgresParameters())
    names.append(array: zones.lazy.map(\.zone))
    names.append(user)
    wanted.append(array: zones.lazy.map(\.zone))
    wanted.append(array: zones.lazy.map(\.ack.seq))
    wanted.append(Int64(size))
    let read = try connection.pipeline { pipe in
      if !isHeld { pipe.send(Self.begin) }
      pipe.send(Self.findZones, names)
      pipe.send(Self.findPlaces, wanted)
    }
    let (states, places) = (read[read.count - 2], read[read.count - 1])
    let tables = tables(of: places)
    let values = try connection.pipeline { pipe in
      for table in tables { if let source = sources[table] { pipe.send(source.statement, wanted) } }
      if !isHeld { pipe.send(Self.end) }
    }
    let ranges = Self.ranges(places)
    let valueRanges = values.prefix(tables.count).map { Self.ranges($0) }
    return zones.map { zone in
      let rows = ranges[zone.zone] ?? 0..<0
      var stretch = Stretch(
        zone: zone.refreshed(by: states), places: places, rows: rows, isCut: rows.count == size)
      for (number, table) in tables.enumerated() {
        if let range = valueRanges[number][zone.zone] {
          stretch.values[table] = Cursor(rows: values[number], next: range.lowerBound)
        }
      }
      return stretch
    }
  }

  /// The tables of the live records among ledger rows.
  func tables(of places: PostgresRows) -> [String] {
    var tables: [String] = []
    for row in places.indices where places.int64(row, 5) == 0 {
      let table = places.text(row, 2)
      if sources[table] != nil, !tables.contains(table) { tables.append(table) }
    }
    return tables
  }

  /// The range of each zone's rows, which are adjacent.
  private static func ranges(_ rows: PostgresRows) -> TextMap<Range<Int>> {
    var ranges: TextMap<Range<Int>> = [:]
    var start = 0
    for row in rows.indices {
      let isLast = row + 1 == rows.count || rows.text(row + 1, 0) != rows.text(row, 0)
      if isLast {
        ranges[rows.text(row, 0)] = start..<(row + 1)
        start = row + 1
      }
    }
    return ranges
  }

  /// Writes an array of changes; see `StoreReader`.
  func write(
    _ first: Stretch, for user: String?, to writer: inout JSONWriter, limit: Int, count: Int64, isHeld: Bool,
    on connection: PostgresConnection
  ) throws -> WrittenChanges {
    var stretch = first
    var written = WrittenChanges(last: first.zone.ack.seq, seq: first.zone.seq)
    let start = writer.count
    writer.beginArray()
    defer { writer.endArray() }
    while true {
      for row in stretch.rows {
        guard writer.count < limit, written.count < count else {
          written.hasMore = true
          return written
        }
        written.last = stretch.places.int64(row, 1)
        written.count += 1
        write(row, of: &stretch, to: &writer)
      }
      if !stretch.isCut { return written }
      if written.count >= count {
        written.hasMore = written.last < written.seq
        return written
      }
      // An estimate of how many changes fill the rest.
      let each = max((writer.count - start) / Int(written.count), 1)
      let size = min(max((limit - writer.count) / each + 1, 1), Self.most, Int(count - written.count) + 1)
      let next = first.zone.acked(written.last)
      guard let more = try read([next], for: user, size: size, isHeld: isHeld, on: connection).first,
        !more.zone.role.isEmpty,
        more.zone.purged <= max(written.last, first.zone.purgedAtBeginning)
      else {
        written.hasMore = true
        return written
      }
      stretch = more
      written.seq = more.zone.seq
    }
  }

  /// Whether the next values belong to a ledger row; true for a deletion, which has no values.
  private func hasValues(_ row: Int, of stretch: Stretch) -> Bool {
    if stretch.places.int64(row, 5) != 0 { return true }
    guard let cursor = stretch.values[stretch.places.text(row, 2)], cursor.next < cursor.rows.count else {
      return false
    }
    return cursor.rows.int64(cursor.next, 1) == stretch.places.int64(row, 1)
  }

  /// Writes a change. A record that is in the ledger but not in its table is skipped: it is neither sent nor reported as deleted. The
  /// operator gets a log message.
  private func write(_ row: Int, of stretch: inout Stretch, to writer: inout JSONWriter) {
    let places = stretch.places
    guard hasValues(row, of: stretch) else {
      // Another server has added this table with a newer schema.
      if sources[places.text(row, 2)] == nil { return }
      return mismatches.note(places.text(row, 2), places.text(row, 3), in: places.text(row, 0))
    }
    writer.beginObject()
    writer.key("table")
    places.withText(row, 2) { writer.string(utf8: $0) }
    writer.key("id")
    places.withText(row, 3) { writer.string(utf8: $0) }
    writer.key("rev")
    writer.int64(places.int64(row, 4))
    writer.key("seq")
    writer.int64(places.int64(row, 1))
    if places.int64(row, 5) == 0 {
      let table = places.text(row, 2)
      writer.key("columns")
      writer.beginObject()
      if let source = sources[table], let cursor = stretch.values[table] {
        for (index, column) in source.columns.enumerated() {
          writer.key(column.key)
          write(cursor.rows, cursor.next, 2 + index, column.type, to: &writer)
        }
      }
      stretch.values[table]?.next += 1
      writer.endObject()
    } else {
      writer.key("deleted")
      writer.bool(true)
      writer.key("deleted_at")
      let stamp = Stamp(rawValue: places.optionalInt64(row, 6) ?? 0)
      writer.string(Timestamp.text(milliseconds: stamp.milliseconds))
    }
    writer.endObject()
  }

  private func write(
    _ rows: PostgresRows, _ row: Int, _ column: Int, _ type: ColumnType, to writer: inout JSONWriter
  ) {
    if rows.isNull(row, column) { return writer.null() }
    switch type {
    case .integer: writer.int64(rows.int64(row, column))
    case .real: writer.doubleOrNull(rows.double(row, column))
    case .boolean: writer.bool(rows.bool(row, column))
    case .json: rows.withText(row, column) { Self.write(json: $0, to: &writer) }
    case .text, .timestamp, .reference, .position: rows.withText(row, column) { writer.string(utf8: $0) }
    }
  }

  /// Writes a JSON value. PostgreSQL accepts JSON that devices cannot parse: repeated names, unpaired surrogates, unlimited depth. Such a
  /// value is sent as a string, so that it blocks nothing and is visible.
  private static func write(json: UnsafeBufferPointer<UInt8>, to writer: inout JSONWriter) {
    do {
      try JSONReader.read(json, maximumDepth: ColumnSchema.jsonDepthLimit) { try $0.skipValue() }
      writer.rawValue(json)
    } catch { writer.string(utf8: json) }
  }
}

extension ZoneProgress {
  /// The zone with the current state from rows.
  package func refreshed(by rows: PostgresRows) -> ZoneProgress {
    var zone = self
    zone.role = ""
    for row in rows.indices where rows.text(row, 0) == self.zone {
      (zone.seq, zone.purged, zone.role) = (rows.int64(row, 1), rows.int64(row, 2), rows.text(row, 3))
    }
    return zone
  }
}
