import HoldfastCore
import HoldfastSQLite

/// Writes the records of one table off the wire straight into a statement. The hot path of every download.
final class RecordWriter {
  private let columns: [Column]
  private let names: [String]
  private let types: [ColumnType]
  private let statement: Statement
  /// Where the bytes being read begin and end: texts that lie in them are lent to SQLite and not copied.
  private let bytes: UnsafeRawBufferPointer
  /// The row in which each column was bound last, to find those that a row leaves out.
  private var boundIn: [Int]
  private var row = 0

  /// A writer for records of one zone.
  ///
  /// - Parameters:
  ///   - statement: parameters are id, zone, rev, then the columns.
  ///   - bytes: what is read; stays where it is as long as the writer is used.
  init(_ table: Table, statement: Statement, zone: String, reading bytes: UnsafeRawBufferPointer) throws {
    columns = table.columns
    names = columns.map(\.name)
    types = columns.map(\.type)
    self.statement = statement
    self.bytes = bytes
    boundIn = Array(repeating: 0, count: columns.count)
    try statement.bind(zone, at: 2)
  }

  /// Writes the record whose columns come next.
  func write(id: String, rev: Int64, from reader: inout JSONReader) throws {
    row += 1
    try statement.bind(id, at: 1)
    try statement.bind(rev, at: 3)
    var next = 0
    var missing = names.count
    try reader.readObject { key, reader in
      // The columns nearly always come in the schema's order.
      if next == names.count || !key.matches(names[next]) {
        next = names.firstIndex { key.matches($0) } ?? names.count
      }
      guard next < names.count else { return try reader.skipValue() }
      try bind(next, from: &reader)
      boundIn[next] = row
      missing -= 1
      next += 1
    }
    // Columns that an older server does not send get their default.
    if missing > 0 {
      for index in names.indices where boundIn[index] != row {
        try statement.bind(SQLiteValue(columns[index].defaultValue ?? .null), at: index + 4)
      }
    }
    try statement.run()
  }

  private func bind(_ column: Int, from reader: inout JSONReader) throws {
    switch (types[column], try reader.peekKind()) {
    case (.text, .string), (.timestamp, .string), (.reference, .string), (.position, .string):
      try reader.readStringBytes { (text: UnsafeBufferPointer<UInt8>) in
        if isLent(text) {
          try statement.bind(staticText: text, at: column + 4)
        } else {
          try statement.bind(text: text, at: column + 4)
        }
      }
    case (.integer, .number):
      try statement.bind(try reader.readInt64(), at: column + 4)
    default:
      try statement.bind(
        SQLiteValue(try OperationReader.value(of: columns[column], from: &reader)), at: column + 4)
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
