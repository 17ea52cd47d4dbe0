import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// Writes the changes of a zone in seq order, from SQLite's columns directly into JSON. Merges the ranges of all tables and of the
/// tombstones while reading.
final class SQLiteChangeFeed {
  private final class Source {
    let statement: Statement
    let columns: [(key: JSONKeyFragment, type: ColumnType, isOmittedIfNull: Bool)]
    /// How its records begin; nil for the tombstones, whose rows have the names of their tables.
    let beginning: JSONKeyFragment?
    /// The seq of the current row; `.max` after the last.
    var seq = Int64.max

    init(
      _ statement: Statement, _ columns: [(key: JSONKeyFragment, type: ColumnType, isOmittedIfNull: Bool)],
      beginning: JSONKeyFragment?
    ) { (self.statement, self.columns, self.beginning) = (statement, columns, beginning) }

    func advance() throws { seq = try statement.step() ? statement.integer(0) : .max }
  }

  private let sources: [Source]

  init(_ schema: SyncSchema, on connection: SQLiteConnection) throws {
    let records = try schema.tables.map { table in
      let columns = table.columns.map { ", \"\($0.name)\"" }.joined()
      return Source(
        try connection.statement(
          "SELECT seq, id, rev\(columns) FROM \"\(table.name)\" WHERE zone = ? AND seq > ? ORDER BY seq"),
        table.columns.map { (JSONKeyFragment($0.name), $0.type, $0.isOmittedIfNull) },
        beginning: JSONKeyFragment("id", afterTable: table.name))
    }
    let tombstones = Source(
      try connection.statement(
        """
        SELECT seq, id, rev, record_table, stamp FROM holdfast_tombstones WHERE zone = ? AND seq > ? ORDER BY seq
        """), [], beginning: nil)
    sources = records + [tombstones]
  }

  /// Writes an array of changes.
  ///
  /// - Parameters:
  ///   - seq: writes only changes after this seq.
  ///   - limit: begins no further change once the whole text has this size in bytes.
  ///   - most: the maximum number of changes.
  /// - Returns: the seq of the last written change, the number of written changes, and whether more follow.
  func write(
    zone: String, after seq: Int64, to writer: inout JSONWriter, limit: Int, most: Int64
  ) throws -> (last: Int64, count: Int64, hasMore: Bool) {
    defer { for source in sources { source.statement.reset() } }
    for source in sources {
      try source.statement.bind(zone, at: 1)
      try source.statement.bind(seq, at: 2)
      try source.advance()
    }
    var last = seq
    var count: Int64 = 0
    writer.beginArray()
    while true {
      var next = sources[0]
      for source in sources where source.seq < next.seq { next = source }
      guard next.seq < .max, writer.count < limit, count < most else {
        writer.endArray()
        return (last, count, next.seq < .max)
      }
      last = next.seq
      count += 1
      write(next, to: &writer)
      try next.advance()
    }
  }

  private func write(_ source: Source, to writer: inout JSONWriter) {
    let row = source.statement
    if let beginning = source.beginning {
      writer.beginObject(beginning)
    } else {
      writer.beginObject()
      writer.key("table")
      row.withText(3) { writer.string(utf8: $0) }
      writer.key("id")
    }
    row.withText(1) { writer.string(utf8: $0) }
    writer.key("rev")
    writer.int64(row.integer(2))
    writer.key("seq")
    writer.int64(source.seq)
    if source.beginning == nil {
      writer.key("deleted")
      writer.bool(true)
      writer.key("deleted_at")
      writer.string(Timestamp.text(milliseconds: Stamp(rawValue: row.integer(4)).milliseconds))
    } else {
      writer.key("columns")
      writer.beginObject()
      for (index, column) in source.columns.enumerated() {
        if column.isOmittedIfNull, Self.isNull(row, 3 + index, column.type) { continue }
        writer.key(column.key)
        write(row, 3 + index, column.type, to: &writer)
      }
      writer.endObject()
    }
    writer.endObject()
  }

  /// Whether a value is null, in SQL or in JSON.
  private static func isNull(_ row: Statement, _ index: Int, _ type: ColumnType) -> Bool {
    row.columnKind(index) == .null || type == .json && row.withText(index) { JSONValue.isNull(utf8: $0) }
  }

  private func write(_ row: Statement, _ index: Int, _ type: ColumnType, to writer: inout JSONWriter) {
    switch (row.columnKind(index), type) {
    case (.null, _): writer.null()
    case (.integer, .boolean): writer.bool(row.integer(index) != 0)
    case (.integer, _): writer.int64(row.integer(index))
    case (.real, _): writer.doubleOrNull(row.real(index))
    case (_, .json): row.withText(index) { writer.rawValue($0) }
    case (_, _): row.withText(index) { writer.string(utf8: $0) }
    }
  }
}
