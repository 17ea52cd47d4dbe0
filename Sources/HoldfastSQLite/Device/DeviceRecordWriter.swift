package import HoldfastCore

/// Writes the records of one table of a page, many with one statement. The hot path of every download.
package final class DeviceRecordWriter {
  private let page: ParsedPage
  private let bytes: UnsafeBufferPointer<UInt8>
  private let zone: String
  private let defaults: [SQLiteValue]
  private let single: Statement
  private let many: Statement
  private let batch: Int
  private var waiting: [ParsedPage.Change] = []

  /// Creates a writer for records of one zone.
  ///
  /// - Parameter bytes: the bytes of the page, bound without copying. They must stay valid until `finish()`.
  package init(
    _ table: TableSchema, _ sql: TableStatements, on connection: SQLiteConnection, zone: String,
    page: ParsedPage, bytes: UnsafeBufferPointer<UInt8>
  ) throws {
    (self.page, self.bytes, self.zone) = (page, bytes, zone)
    defaults = table.columns.map { SQLiteValue($0.absentValue) }
    single = try connection.statement(sql.upsert)
    many = try connection.statement(sql.upsertBatch)
    batch = sql.batch
    waiting.reserveCapacity(batch)
    try many.bind(zone, at: 1)
  }

  /// Writes a record, or queues it for the next batch.
  package func write(_ change: ParsedPage.Change) throws {
    waiting.append(change)
    if waiting.count < batch { return }
    var first = 2
    for change in waiting {
      try bind(change, to: many, from: first)
      first += 2 + defaults.count
    }
    try many.run()
    waiting.removeAll(keepingCapacity: true)
  }

  /// Writes the queued records.
  package func finish() throws {
    // Bound only here, because records with edits use the same statement in between.
    try single.bind(zone, at: 1)
    for change in waiting {
      try bind(change, to: single, from: 2)
      try single.run()
    }
    waiting.removeAll()
  }

  private func bind(_ change: ParsedPage.Change, to statement: Statement, from first: Int) throws {
    try bind(change.id, or: .null, to: statement, at: first)
    try statement.bind(change.rev, at: first + 1)
    for column in defaults.indices {
      try bind(
        page.cells[change.firstCell + column], or: defaults[column], to: statement, at: first + 2 + column)
    }
  }

  private func bind(
    _ cell: ParsedPage.Cell, or value: SQLiteValue, to statement: Statement, at index: Int
  ) throws {
    switch cell {
    case .absent: try statement.bind(value, at: index)
    case .null: try statement.bindNull(at: index)
    case .integer(let number): try statement.bind(number, at: index)
    case .real(let number): try statement.bind(number, at: index)
    case .text(let start, let count):
      try statement.bind(
        staticText: UnsafeBufferPointer(rebasing: bytes[start..<start + count]), at: index)
    case .other(let other): try statement.bind(page.others[other], at: index)
    }
  }
}
