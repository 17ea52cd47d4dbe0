package import HoldfastCore

/// Parses a page of changes. The hot path of every download, together with `DeviceRecordWriter`.
///
/// It needs only the bytes and the schema, not the database. So another thread can parse a page while one is written.
package struct PageParser {
  /// The precomputed lookup data of a table.
  package struct Form: Sendable {
    let name: [UInt8]
    let columns: [ColumnSchema]
    let columnNames: [[UInt8]]
    /// Other names of the table, used by an older or newer server.
    let otherNames: [[UInt8]]
    /// Other names of columns, with the column's index.
    let otherColumns: [(name: [UInt8], column: Int)]
    /// Separate from `columns`, because copying a whole `ColumnSchema` for each value would cost as much as parsing it.
    let types: [ColumnType]

    /// - Parameter formerNames: the other names of tables and columns that the server sent.
    package init(_ table: TableSchema, _ formerNames: FormerNames = FormerNames()) {
      otherNames = formerNames.others(of: table).map { Array($0.utf8) }
      otherColumns = formerNames.otherColumns(of: table).map { (Array($0.name.utf8), $0.column) }
      name = Array(table.name.utf8)
      columns = table.columns
      columnNames = table.columns.map { Array($0.name.utf8) }
      types = table.columns.map(\.type)
    }

    /// The index of the column with a name; nil if this app does not know it.
    package func index(of key: JSONKey) -> Int? {
      columnNames.firstIndex { matches(key, $0) } ?? otherColumns.first { matches(key, $0.name) }?.column
    }
  }

  private let tables: [Form]
  private let all: UnsafeBufferPointer<UInt8>
  private var page: ParsedPage

  /// Parses an array of changes.
  ///
  /// - Parameters:
  ///   - bytes: the bytes that contain it.
  ///   - range: its range in `bytes`.
  ///   - tables: one entry per table of the schema.
  /// - Throws: `JSONError`; `Problem` if a change has no columns.
  package static func parse(_ bytes: [UInt8], _ range: Range<Int>, tables: [Form]) throws -> ParsedPage {
    try bytes.withUnsafeBufferPointer { all in
      var parser = PageParser(tables: tables, all: all, page: ParsedPage(bytes))
      try JSONReader.read(UnsafeBufferPointer(rebasing: all[range])) { reader in
        try reader.readArray { try parser.readChange(&$0, from: range.lowerBound) }
      }
      return parser.page
    }
  }

  /// - Parameter start: the offset in the page at which the reader began.
  private mutating func readChange(_ reader: inout JSONReader, from start: Int) throws {
    var change = ParsedPage.Change()
    var table: Int?
    var columns: Range<Int>?
    var isRead = false
    try reader.readObject { key, reader in
      switch key {
      case "table":
        table = try reader.readStringBytes { name in
          tables.firstIndex { $0.name.elementsEqual(name) }
            ?? tables.firstIndex { $0.otherNames.contains { $0.elementsEqual(name) } }
        }
      case "id": change.id = try text(from: &reader)
      case "rev": change.rev = try reader.readInt64()
      case "deleted": change.isDeleted = try reader.readBool()
      case "columns":
        let first = start + reader.offset
        // The table nearly always precedes the columns.
        if let table {
          change.firstCell = try readColumns(of: tables[table], from: &reader)
          isRead = true
        } else {
          try reader.skipValue()
        }
        columns = first..<start + reader.offset
      default: try reader.skipValue()
      }
    }
    // A table unknown to this app is skipped. The zone is downloaded again when an update of the app knows it.
    guard let table else { return }
    change.table = table
    if !change.isDeleted {
      guard let columns else {
        throw Problem(.invalidRequest, "A change of the server's answer has no columns.")
      }
      change.columns = columns
      if !isRead {
        change.firstCell = try JSONReader.read(UnsafeBufferPointer(rebasing: all[columns])) {
          try readColumns(of: tables[table], from: &$0)
        }
      }
    }
    page.changes.append(change)
  }

  /// Parses a record's columns, and returns the index of its first cell.
  private mutating func readColumns(of table: Form, from reader: inout JSONReader) throws -> Int {
    let first = page.cells.count
    let names = table.columnNames
    page.cells.append(contentsOf: repeatElement(.absent, count: names.count))
    var next = 0
    try reader.readObject { key, reader in
      // The columns are nearly always in the schema's order.
      if next == names.count || !matches(key, names[next]) {
        next = table.index(of: key) ?? names.count
      }
      guard next < names.count else { return try reader.skipValue() }
      page.cells[first + next] = try cell(next, of: table, from: &reader)
      next += 1
    }
    return first
  }

  private mutating func cell(_ column: Int, of table: Form, from reader: inout JSONReader) throws
    -> ParsedPage.Cell
  {
    switch (table.types[column], try reader.peekKind()) {
    case (.text, .string), (.timestamp, .string), (.reference, .string), (.position, .string):
      return try text(from: &reader)
    case (.integer, .number):
      if case .integer(let number) = try reader.readNumber() { return .integer(number) }
      return .absent
    case (.boolean, .bool): return .integer(try reader.readBool() ? 1 : 0)
    default:
      switch try table.columns[column].sentValue(from: &reader) {
      case nil: return .absent
      case .null: return .null
      case .integer(let number): return .integer(number)
      case .real(let number): return .real(number)
      case .text(let text): return other(.text(text))
      }
    }
  }

  private mutating func text(from reader: inout JSONReader) throws -> ParsedPage.Cell {
    try reader.readStringBytes { text in
      // A text with escapes is in the reader's own memory.
      guard let base = all.baseAddress, let first = text.baseAddress, first >= base,
        first + text.count <= base + all.count
      else {
        return other(.text(String(decoding: text, as: UTF8.self)))
      }
      return .text(start: first - base, count: text.count)
    }
  }

  private mutating func other(_ value: SQLiteValue) -> ParsedPage.Cell {
    page.others.append(value)
    return .other(page.others.count - 1)
  }
}

private func matches(_ key: JSONKey, _ name: [UInt8]) -> Bool {
  name.withUnsafeBufferPointer { key.matches($0) }
}
