import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Writes changes from libpq's memory straight into JSON.
struct PostgresChangeWriter {
  /// Reads up to `size` further changes of a zone, and runs `work` meanwhile; nil if the zone can no longer be read.
  typealias More = (_ zone: ZoneProgress, _ size: Int, _ work: () -> Void) throws -> PostgresStretch?

  let feed: PostgresChangeFeed
  /// No further change is written once the text has this many bytes.
  let limit: Int
  /// The maximum number of changes.
  let count: Int64
  /// The table of the last row.
  private var source: PostgresChangeFeed.Source?
  private var written: WrittenChanges

  init(_ feed: PostgresChangeFeed, _ zone: ZoneProgress, limit: Int, count: Int64) {
    (self.feed, self.limit, self.count) = (feed, limit, count)
    written = WrittenChanges(last: zone.ack.seq, seq: zone.seq)
  }

  /// Writes an array of changes; see `StoreReader`. The next stretch is read while the current one is written.
  mutating func write(_ first: PostgresStretch, to writer: inout JSONWriter, _ more: More) throws
    -> WrittenChanges
  {
    var stretch = first
    let start = writer.count
    writer.beginArray()
    defer { writer.endArray() }
    while true {
      var next: PostgresStretch?
      var isFull = false
      if stretch.isCut, isMoreLikely(behind: stretch, writer.count, from: start), let last = stretch.last {
        next = try more(first.zone.acked(last), size(behind: stretch.rows.count)) {
          isFull = writeRows(of: &stretch, to: &writer)
        }
      } else {
        isFull = writeRows(of: &stretch, to: &writer)
      }
      if isFull {
        written.hasMore = true
        return written
      }
      if !stretch.isCut { return written }
      if written.count >= count {
        written.hasMore = written.last < written.seq
        return written
      }
      if next == nil { next = try more(first.zone.acked(written.last), size(behind: 0)) {} }
      guard let next, !next.zone.role.isEmpty,
        next.zone.purged <= max(written.last, first.zone.purgedAtBeginning)
      else {
        written.hasMore = true
        return written
      }
      stretch = next
      written.seq = next.zone.seq
    }
  }

  /// Whether there is probably room for more than this stretch.
  private func isMoreLikely(behind stretch: PostgresStretch, _ size: Int, from start: Int) -> Bool {
    let each = written.count == 0 ? 100 : (size - start) / Int(written.count)
    return written.count + Int64(stretch.rows.count) < count && size + each * stretch.rows.count < limit
  }

  /// The size of the next stretch. One change more than may be written shows whether there are more.
  private func size(behind rows: Int) -> Int {
    Int(min(Int64(PostgresChangeFeed.size), count - written.count - Int64(rows) + 1))
  }

  /// - Returns: whether the limit was reached before the last row.
  private mutating func writeRows(of stretch: inout PostgresStretch, to writer: inout JSONWriter) -> Bool {
    for row in stretch.rows {
      guard writer.count < limit, written.count < count else { return true }
      written.last = stretch.places.int64(row, PostgresStretch.Column.seq)
      written.count += 1
      write(row, of: &stretch, to: &writer)
    }
    return false
  }

  /// Writes a change. A record that is in the ledger but not in its table is skipped and logged for the operator. It is not reported as deleted.
  private mutating func write(_ row: Int, of stretch: inout PostgresStretch, to writer: inout JSONWriter) {
    let places = stretch.places
    if places.int64(row, PostgresStretch.Column.state) != 0 {
      begin(row, places, to: &writer)
      writer.key("deleted")
      writer.bool(true)
      writer.key("deleted_at")
      let stamp = Stamp(rawValue: places.optionalInt64(row, PostgresStretch.Column.stamp) ?? 0)
      writer.string(Timestamp.text(milliseconds: stamp.milliseconds))
      return writer.endObject()
    }
    // A table that another server has added with a newer schema.
    guard let source = source(of: row, places) else { return }
    guard let (rows, from, first) = values(of: row, source, &stretch) else {
      return feed.mismatches.note(
        source.table, places.text(row, PostgresStretch.Column.id), in: stretch.zone.zone)
    }
    begin(row, places, name: source.name, to: &writer)
    writer.key("columns")
    writer.beginObject()
    for (index, column) in source.columns.enumerated() {
      if column.isOmittedIfNull, Self.isNull(rows, from, first + index, column.type) { continue }
      writer.key(column.key)
      write(rows, from, first + index, column.type, to: &writer)
    }
    writer.endObject()
    writer.endObject()
  }

  private func begin(_ row: Int, _ places: PostgresRows, name: [UInt8]? = nil, to writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("table")
    if let name {
      writer.rawValue(name)
    } else {
      places.withText(row, PostgresStretch.Column.table) { writer.string(utf8: $0) }
    }
    writer.key("id")
    places.withText(row, PostgresStretch.Column.id) { writer.string(utf8: $0) }
    writer.key("rev")
    writer.int64(places.int64(row, PostgresStretch.Column.rev))
    writer.key("seq")
    writer.int64(places.int64(row, PostgresStretch.Column.seq))
  }

  /// The table of a row. It is usually that of the previous row.
  private mutating func source(of row: Int, _ places: PostgresRows) -> PostgresChangeFeed.Source? {
    let isSame = places.withText(row, PostgresStretch.Column.table) { name in
      source?.utf8.withUnsafeBufferPointer { $0.elementsEqual(name) } ?? false
    }
    if !isSame { source = feed.sources[places.text(row, PostgresStretch.Column.table)] }
    return source
  }

  /// The row with the values of a live record, and their first column; nil if the record is not in its table.
  private func values(
    of row: Int, _ source: PostgresChangeFeed.Source, _ stretch: inout PostgresStretch
  ) -> (rows: PostgresRows, row: Int, column: Int)? {
    if stretch.joined == source.table {
      return stretch.places.bool(row, PostgresStretch.Column.isFound)
        ? (stretch.places, row, PostgresStretch.Column.values) : nil
    }
    if let (rows, place) = stretch.scannedRow(of: row, source.table) { return (rows, place, 1) }
    guard let cursor = stretch.values[source.table], let next = cursor.rest.first,
      cursor.rows.int64(next, 1) == stretch.places.int64(row, PostgresStretch.Column.seq)
    else { return nil }
    stretch.values[source.table]?.rest = next + 1..<cursor.rest.upperBound
    return (cursor.rows, next, 2)
  }

  /// Whether a value is null, in SQL or in JSON.
  private static func isNull(_ rows: PostgresRows, _ row: Int, _ column: Int, _ type: ColumnType) -> Bool {
    rows.isNull(row, column) || type == .json && rows.withText(row, column) { JSONValue.isNull(utf8: $0) }
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

  /// Writes a JSON value. A write by SQL may contain JSON that devices reject: duplicate keys, lone surrogates, unlimited depth. It is sent as a
  /// string, which does not stop the sync and is visible to users.
  private static func write(json: UnsafeBufferPointer<UInt8>, to writer: inout JSONWriter) {
    do {
      try JSONReader.read(json, maximumDepth: ColumnSchema.jsonDepthLimit) { try $0.skipValue() }
      writer.rawValue(json)
    } catch { writer.string(utf8: json) }
  }
}
