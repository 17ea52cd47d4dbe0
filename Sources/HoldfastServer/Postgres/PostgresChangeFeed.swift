import HoldfastCore
import HoldfastPostgres

/// Writes the changes of a zone in seq order: a stretch of the ledger at a time, with the values of its records, from libpq's
/// memory straight into JSON.
struct PostgresChangeFeed: Sendable {
  private struct Source: Sendable {
    let statement: PostgresStatement
    let columns: [(key: JSONKeyFragment, type: ColumnType)]
    /// The name of the table as JSON.
    let name: [UInt8]
  }

  /// How many changes the first stretch has, and how many one has at the most.
  private static let stretch = (first: 256, most: 4096)
  private static let findPlaces: PostgresStatement = """
    SELECT seq, record_table, id, rev, state, stamp FROM holdfast.records
    WHERE zone = $1 AND seq > $2 ORDER BY seq LIMIT $3
    """

  /// By the names of their tables.
  private let sources: [String: Source]

  init(_ schema: Schema, _ layout: PostgresLayout) {
    var sources: [String: Source] = [:]
    for (table, relation) in zip(schema.tables, layout.relations) {
      let columns = relation.columns.map { ", \($0.read)" }.joined()
      sources[table.name] = Source(
        statement: PostgresStatement(
          """
          SELECT r.seq\(columns) FROM holdfast.records r JOIN \(relation.name) t
          ON t.id = r.id\(relation.idKey)\(relation.hasZone ? " AND t.zone = r.zone" : "")
          WHERE r.zone = $1 AND r.seq > $2 AND r.seq <= $3 AND r.state = 0
          AND r.record_table = \(PostgresName.literal(table.name)) ORDER BY r.seq
          """),
        columns: table.columns.map { (JSONKeyFragment($0.name), $0.type) },
        name: JSONValue.string(table.name).bytes)
    }
    self.sources = sources
  }

  /// Writes an array of changes; see `StoreReader`.
  func write(
    zone: String, after seq: Int64, to writer: inout JSONWriter, limit: Int, on connection: PostgresConnection
  ) throws -> (last: Int64, count: Int64, hasMore: Bool) {
    var (last, count) = (seq, Int64(0))
    var size = Self.stretch.first
    let start = writer.count
    writer.beginArray()
    while true {
      let places = try connection.query(Self.findPlaces, PostgresParameters(zone, last, Int64(size)))
      var values = try self.values(of: places, zone: zone, after: last, on: connection)
      for row in places.indices {
        guard writer.count < limit else {
          writer.endArray()
          return (last, count, true)
        }
        last = places.int64(row, 0)
        count += 1
        try write(places, row, &values, to: &writer)
      }
      if places.count < size {
        writer.endArray()
        return (last, count, false)
      }
      // As many as are likely to fill the rest.
      let each = max((writer.count - start) / Int(count), 1)
      size = min(max((limit - writer.count) / each + 1, 1), Self.stretch.most)
    }
  }

  private struct Cursor {
    let rows: PostgresRows
    var next = 0
  }

  /// The values of the live records of a stretch, by table.
  private func values(
    of places: PostgresRows, zone: String, after seq: Int64, on connection: PostgresConnection
  ) throws -> [String: Cursor] {
    var tables: [String] = []
    for row in places.indices where places.int64(row, 4) == 0 {
      let table = places.text(row, 1)
      if !tables.contains(table) { tables.append(table) }
    }
    if tables.isEmpty { return [:] }
    let parameters = PostgresParameters(zone, seq, places.int64(places.count - 1, 0))
    let answers = try connection.pipeline { pipe in
      for table in tables {
        if let source = sources[table] { pipe.send(source.statement, parameters) }
      }
    }
    return Dictionary(
      zip(tables.filter { sources[$0] != nil }, answers.map { Cursor(rows: $0) }),
      uniquingKeysWith: { first, _ in first })
  }

  private func write(
    _ places: PostgresRows, _ row: Int, _ values: inout [String: Cursor], to writer: inout JSONWriter
  ) throws {
    writer.beginObject()
    writer.key("table")
    places.withText(row, 1) { writer.string(utf8: $0) }
    writer.key("id")
    places.withText(row, 2) { writer.string(utf8: $0) }
    writer.key("rev")
    writer.int64(places.int64(row, 3))
    writer.key("seq")
    writer.int64(places.int64(row, 0))
    if places.int64(row, 4) == 0 {
      let table = places.text(row, 1)
      guard let source = sources[table], let cursor = values[table], cursor.next < cursor.rows.count,
        cursor.rows.int64(cursor.next, 0) == places.int64(row, 0)
      else { throw ServerError(.damaged, "A record of \(table) is in the ledger alone.") }
      values[table]?.next += 1
      writer.key("columns")
      writer.beginObject()
      for (index, column) in source.columns.enumerated() {
        writer.key(column.key)
        write(cursor.rows, cursor.next, 1 + index, column.type, to: &writer)
      }
      writer.endObject()
    } else {
      writer.key("deleted")
      writer.bool(true)
      writer.key("deleted_at")
      let stamp = Stamp(rawValue: places.optionalInt64(row, 5) ?? 0)
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

  /// Writes a value of JSON. PostgreSQL takes some that no device reads, and SQL may have put one there: a name twice in an object, half a
  /// character, depth without end. It is sent as a string, so that it stops nothing and can be seen.
  private static func write(json: UnsafeBufferPointer<UInt8>, to writer: inout JSONWriter) {
    do {
      try JSONReader.read(json, maximumDepth: Column.jsonDepthLimit) { try $0.skipValue() }
      writer.rawValue(json)
    } catch { writer.string(utf8: json) }
  }
}
