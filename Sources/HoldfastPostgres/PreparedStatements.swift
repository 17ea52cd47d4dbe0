/// The statements that the server has prepared for a connection, by key.
struct PreparedStatements {
  private struct Entry {
    let sql: String
    let types: [UInt32]
  }

  private var entries: [UInt64: Entry] = [:]

  /// Whether the server's statements no longer fit the schema, and must be deallocated before the next use.
  var areStale = false

  /// Whether a statement is prepared for these parameter types.
  func contains(_ statement: PostgresStatement, _ types: [UInt32]) -> Bool {
    guard let entry = entries[statement.key] else { return false }
    precondition(
      entry.sql == statement.sql, "Two statements share a key; change a space in one: \(entry.sql)")
    precondition(entry.types == types, "The parameters' types differ from the first use's: \(statement.sql)")
    return true
  }

  mutating func insert(_ statement: PostgresStatement, _ types: [UInt32]) {
    entries[statement.key] = Entry(sql: statement.sql, types: types)
  }

  mutating func remove(_ statement: PostgresStatement) { entries[statement.key] = nil }

  mutating func removeAll() {
    entries.removeAll(keepingCapacity: true)
    areStale = false
  }

  /// Detects stale statements by an error. A changed table causes `.featureNotSupported`; a pooler that lent another server connection
  /// causes `.undefinedPreparedStatement`.
  mutating func notice(_ error: PostgresError) {
    if error.code == .featureNotSupported || error.code == .undefinedPreparedStatement { areStale = true }
  }
}
