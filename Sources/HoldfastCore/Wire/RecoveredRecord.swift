/// A record or tombstone that a device uploads to a restored server; docs/RESTORING.md, section 4.
package struct RecoveredRecord: Sendable {
  /// The maximum number in one request.
  package static let limit = 500

  /// The greatest `rev`. No history gets there by edits, and what follows leaves room below the greatest integer that JavaScript holds (2^53).
  package static let greatestRev: Int64 = 1 << 48

  /// The index of the table.
  package let table: Int
  /// The record's id.
  package let id: String
  /// The record's zone on the device.
  package let zone: String
  /// The record's `rev` in the lost history.
  package let rev: Int64
  /// The values in column order; nil for a tombstone.
  package let values: [Value]?
  /// The columns that the device's app does not have: of these the server's values stay.
  package var unknown: Set<Int> = []

  /// Whether it is a tombstone.
  package var isDeletion: Bool { values == nil }

  /// Creates a recovered record.
  package init(table: Int, id: String, zone: String, rev: Int64, values: [Value]?) {
    (self.table, self.id, self.zone, self.rev, self.values) = (table, id, zone, rev, values)
  }

  /// Writes it.
  ///
  /// - Parameters:
  ///   - writer: gets the record.
  ///   - table: its table.
  package func write(to writer: inout JSONWriter, of table: TableSchema) {
    writer.beginObject()
    writer.key("table")
    writer.string(table.name)
    writer.key("id")
    writer.string(id)
    writer.key("zone")
    writer.string(zone)
    writer.key("rev")
    writer.int64(rev)
    if let values {
      writer.key("columns")
      writer.beginObject()
      for (column, value) in zip(table.columns, values) {
        writer.key(named: column.name)
        writer.value(value, of: column)
      }
      writer.endObject()
    } else {
      writer.key("deleted")
      writer.bool(true)
    }
    writer.endObject()
  }
}

extension OperationReader {
  /// Reads a recovered record. Unknown columns that are null are skipped.
  ///
  /// - Returns: a problem if the record does not fit the schema.
  /// - Throws: `Problem` for an invalid form; `JSONError` for invalid JSON.
  func readRecovered(_ reader: inout JSONReader) throws -> Result<RecoveredRecord, Problem> {
    var (name, id, zone): (String?, String?, String?)
    var rev: Int64?
    var columns: UnsafeBufferPointer<UInt8>?
    var isDeleted = false
    try reader.readObject { key, reader in
      switch key {
      case "table": name = try reader.readString()
      case "id": id = try reader.readString()
      case "zone": zone = try reader.readString()
      case "rev": rev = try reader.readInt64()
      case "columns": columns = try reader.readRawValue()
      case "deleted": isDeleted = try reader.readBool()
      default:
        throw Problem(.invalidRequest, "Unknown member \"\(key.string.prefix(64))\" of a recovered record.")
      }
    }
    guard let name, let id, Identifier.isPossible(id), let zone,
      Identifier.isPossible(zone), let rev, rev >= 1, (columns == nil) == isDeleted
    else {
      throw Problem(
        .invalidRequest, "What is recovered names a table, id, zone and rev, and has columns or is deleted."
      )
    }
    guard let table = schema.index(called: name) else { return .failure(Problem(.unknownTable, name)) }
    if rev > RecoveredRecord.greatestRev {
      return .failure(Problem(.invalidValue, "A recovered rev is at most \(RecoveredRecord.greatestRev)."))
    }
    do {
      let sent = try columns.map { try self.values(in: $0, of: schema.tables[table]) }
      let values = try sent.map { try schema.tables[table].completed($0).map { $0 ?? .null } }
      var record = RecoveredRecord(table: table, id: id, zone: zone, rev: rev, values: values)
      if let sent { record.unknown = Set(sent.indices.filter { sent[$0] == nil }) }
      return .success(record)
    } catch let problem as Problem {
      return .failure(problem)
    } catch let error as JSONError {
      return .failure(Problem(.invalidValue, error.description))
    }
  }

  private func values(in columns: UnsafeBufferPointer<UInt8>, of table: TableSchema) throws -> [Value?] {
    try table.values(in: columns) { key, reader in
      // A value of an unknown column is refused instead of lost. It waits in quarantine for a server that knows the column.
      guard table.index(called: key) == nil, try reader.peekKind() == .null else { return false }
      try reader.readNull()
      return true
    }
  }
}
