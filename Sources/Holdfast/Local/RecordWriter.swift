import HoldfastCore
import HoldfastSQLite

/// Writes the records of one table off the wire, many with one statement. The hot path of every download.
final class RecordWriter {
  /// A value that waits to be written.
  private enum Cell {
    case integer(Int64)
    /// A text that lies in the bytes being read; it is lent to SQLite and not copied.
    case lent(UnsafeBufferPointer<UInt8>)
    case value(SQLiteValue)
  }

  private let columns: [Column]
  private let names: [String]
  private let types: [ColumnType]
  private let defaults: [Cell]
  private let zone: String
  private let bytes: UnsafeRawBufferPointer
  private let single: Statement
  private let many: Statement
  private let batch: Int
  private var rows: [(id: String, rev: Int64)] = []
  private var cells: [Cell] = []

  /// A writer for records of one zone.
  ///
  /// - Parameter bytes: what is read; stays where it is until `finish()`.
  init(
    _ table: Table, _ sql: TableStatements, on connection: Connection, zone: String,
    reading bytes: UnsafeRawBufferPointer
  ) throws {
    columns = table.columns
    names = sql.columns
    types = columns.map(\.type)
    // Columns that an older server does not send get their default.
    defaults = columns.map { .value(SQLiteValue($0.defaultValue ?? .null)) }
    self.zone = zone
    self.bytes = bytes
    single = try connection.statement(sql.upsert)
    many = try connection.statement(sql.upsertBatch)
    batch = sql.batch
  }

  /// Takes the record whose columns come next.
  func write(id: String, rev: Int64, from reader: inout JSONReader) throws {
    let start = cells.count
    rows.append((id, rev))
    cells.append(contentsOf: defaults)
    var next = 0
    try reader.readObject { key, reader in
      // The columns nearly always come in the schema's order.
      if next == names.count || !key.matches(names[next]) {
        next = names.firstIndex { key.matches($0) } ?? names.count
      }
      guard next < names.count else { return try reader.skipValue() }
      cells[start + next] = try cell(next, from: &reader)
      next += 1
    }
    if rows.count == batch { try writeBatch() }
  }

  /// Writes what is still waiting.
  func finish() throws {
    for row in rows.indices {
      try bind(row, to: single, from: 1)
      try single.run()
    }
    forget()
  }

  private func writeBatch() throws {
    for row in rows.indices { try bind(row, to: many, from: 1 + row * (names.count + 3)) }
    try many.run()
    forget()
  }

  private func forget() {
    rows.removeAll(keepingCapacity: true)
    cells.removeAll(keepingCapacity: true)
  }

  private func bind(_ row: Int, to statement: Statement, from first: Int) throws {
    try statement.bind(rows[row].id, at: first)
    try statement.bind(zone, at: first + 1)
    try statement.bind(rows[row].rev, at: first + 2)
    for column in names.indices {
      switch cells[row * names.count + column] {
      case .integer(let number): try statement.bind(number, at: first + 3 + column)
      case .lent(let text): try statement.bind(staticText: text, at: first + 3 + column)
      case .value(let value): try statement.bind(value, at: first + 3 + column)
      }
    }
  }

  private func cell(_ column: Int, from reader: inout JSONReader) throws -> Cell {
    switch (types[column], try reader.peekKind()) {
    case (.text, .string), (.timestamp, .string), (.reference, .string), (.position, .string):
      return try reader.readStringBytes { (text: UnsafeBufferPointer<UInt8>) in
        isLent(text) ? .lent(text) : .value(.text(String(decoding: text, as: UTF8.self)))
      }
    case (.integer, .number): return .integer(try reader.readInt64())
    case (.boolean, .bool): return .integer(try reader.readBool() ? 1 : 0)
    default: return .value(SQLiteValue(try OperationReader.value(of: columns[column], from: &reader)))
    }
  }

  /// Whether a text lies in the bytes being read, and not in the reader's own memory as one with escapes does.
  private func isLent(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let start = bytes.baseAddress, let first = text.baseAddress.map(UnsafeRawPointer.init) else {
      return false
    }
    return first >= start && first + text.count <= start + bytes.count
  }
}
