package import HoldfastCore

/// Encodes records as REST shows them: PROTOCOL.md, section 9.1.
package struct RecordWriter: Sendable {
  private struct Source: Sendable {
    /// The name of the table as JSON.
    let name: [UInt8]
    let columns: [ColumnSchema]
    let keys: [JSONKeyFragment]
  }

  /// In the order of the schema.
  private let sources: [Source]

  package init(_ schema: SyncSchema) {
    sources = schema.tables.map { table in
      Source(
        name: JSONValue.string(table.name).bytes, columns: table.columns,
        keys: table.columns.map { JSONKeyFragment($0.name) })
    }
  }

  /// Writes a live record.
  ///
  /// - Parameters:
  ///   - created: the id of the request that created the record, if the reader sent that request.
  ///   - columns: the indexes of the columns to show, in this order; nil for all.
  ///   - rank: the record's rank, or null; nil if no rank was requested.
  package func write(
    _ record: StoredRecord, created: String?, columns: [Int]?, rank: Value? = nil, to writer: inout JSONWriter
  ) {
    let source = sources[record.table]
    writer.beginObject()
    writeHead(source, id: record.id, zone: record.zone, rev: record.rev, seq: record.seq, to: &writer)
    writer.key("columns")
    writer.beginObject()
    for column in columns ?? Array(source.columns.indices) {
      writer.key(source.keys[column])
      Self.write(record.values[column], of: source.columns[column], to: &writer)
    }
    writer.endObject()
    if let rank {
      writer.key("rank")
      if case .integer(let number) = rank { writer.int64(number) } else { writer.null() }
    }
    writeCreated(created, to: &writer)
    writer.endObject()
  }

  /// Writes a live record without its columns, for answers at their size limit.
  package func writeHead(of record: StoredRecord, created: String?, to writer: inout JSONWriter) {
    writer.beginObject()
    writeHead(
      sources[record.table], id: record.id, zone: record.zone, rev: record.rev, seq: record.seq, to: &writer)
    writeCreated(created, to: &writer)
    writer.endObject()
  }

  private func writeCreated(_ created: String?, to writer: inout JSONWriter) {
    guard let created else { return }
    writer.key("created_by_request_id")
    writer.string(created)
  }

  /// Writes the short form of a deleted record.
  package func writeShort(
    table: Int, id: String, zone: String, rev: Int64, seq: Int64, stamp: Stamp,
    to writer: inout JSONWriter
  ) {
    writer.beginObject()
    writeShortMembers(table: table, id: id, zone: zone, rev: rev, seq: seq, stamp: stamp, to: &writer)
    writer.endObject()
  }

  /// Writes the members of the short form into an open object.
  package func writeShortMembers(
    table: Int, id: String, zone: String, rev: Int64, seq: Int64, stamp: Stamp,
    to writer: inout JSONWriter
  ) {
    writeHead(sources[table], id: id, zone: zone, rev: rev, seq: seq, to: &writer)
    writer.key("deleted")
    writer.bool(true)
    writer.key("deleted_at")
    writer.string(Timestamp.text(milliseconds: stamp.milliseconds))
  }

  private func writeHead(
    _ source: Source, id: String, zone: String, rev: Int64, seq: Int64, to writer: inout JSONWriter
  ) {
    writer.key("table")
    writer.rawValue(source.name)
    writer.key("id")
    writer.string(id)
    writer.key("zone")
    writer.string(zone)
    writer.key("rev")
    writer.int64(rev)
    writer.key("seq")
    writer.int64(seq)
  }

  /// Writes a column value. PostgreSQL accepts JSON that devices cannot parse, and plain SQL may have stored some: it is sent as a string.
  private static func write(_ value: Value, of column: ColumnSchema, to writer: inout JSONWriter) {
    guard case .text(var text) = value, column.type == .json else { return writer.value(value, of: column) }
    let isReadable =
      (try? JSONReader.read(text, maximumDepth: ColumnSchema.jsonDepthLimit) { try $0.skipValue() }) != nil
    if isReadable { text.withUTF8 { writer.rawValue($0) } } else { writer.string(text) }
  }
}
