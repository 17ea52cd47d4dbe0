internal import CPostgres

/// Rows to copy into a table; see `PostgresConnection.copyIn`.
///
/// Source: <https://www.postgresql.org/docs/15/sql-copy.html#id-1.9.3.55.9.4>, the binary format.
public final class PostgresCopy {
  private let owner: PostgresConnection
  private let sql: String
  @usableFromInline var row = PostgresParameters()
  private var buffer: [UInt8] = []

  /// The number of buffered bytes that triggers sending.
  private static let bufferLimit = 64 * 1024

  init(_ owner: PostgresConnection, _ sql: String) {
    self.owner = owner
    self.sql = sql
    buffer += Array("PGCOPY\n".utf8) + [0xff, 0x0d, 0x0a, 0]
    buffer.appendInteger(0 as Int32)
    buffer.appendInteger(0 as Int32)
  }

  /// Sends one row: one value for each column of the copy, of exactly its type; nil is null.
  ///
  /// - Throws: `.invalidText` if a text contains U+0000, and `.connectionLost`. The server's errors are thrown at the end of the copy.
  @inlinable
  public func send<each Value: PostgresValue>(_ values: repeat (each Value)?) throws(PostgresError) {
    row.removeAll()
    repeat row.append(each values)
    try send(row)
  }

  /// Sends one row.
  ///
  /// - Parameter row: one value for each column of the copy, of exactly its type.
  /// - Throws: as the other `send`.
  public func send(_ row: PostgresParameters) throws(PostgresError) {
    try row.check(for: sql)
    buffer.appendInteger(Int16(clamping: row.count))
    for field in row.fields {
      buffer.appendInteger(Int32(clamping: field.count))
      if field.count > 0 { buffer += row.bytes[field.start..<(field.start + field.count)] }
    }
    if buffer.count >= Self.bufferLimit { try flush() }
  }

  /// Sends the end marker.
  func finish() throws(PostgresError) {
    buffer.appendInteger(-1 as Int16)
    try flush()
  }

  private func flush() throws(PostgresError) {
    let connection = owner.connection
    let sent = buffer.withUnsafeBytes { bytes in
      PQputCopyData(
        connection, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(clamping: bytes.count))
    }
    buffer.removeAll(keepingCapacity: true)
    if sent != 1 { throw PostgresError(nil, of: connection, while: .copying, statement: sql) }
  }
}

extension PostgresConnection {
  /// Copies rows into a table, which is the fastest way to load many.
  ///
  /// If `body` throws, no row is copied, and the connection stays usable.
  /// - Parameters:
  ///   - sql: `COPY table (columns) FROM STDIN (FORMAT binary)`.
  ///   - body: sends the rows. It must not use the connection otherwise.
  /// - Returns: the number of copied rows.
  /// - Throws: `PostgresError`, any code, or the error of `body`; `.misuse` if the SQL is no such COPY.
  @discardableResult
  public func copyIn(
    _ sql: String, _ body: (PostgresCopy) throws -> Void
  ) throws -> Int {
    let start = PQexec(connection, sql)
    defer { PQclear(start) }
    guard PQresultStatus(start) == PGRES_COPY_IN, PQbinaryTuples(start) == 1 else {
      if PQresultStatus(start) == PGRES_COPY_IN {
        _ = try? endCopy("The format is not binary.", sql)
      } else {
        _ = try check(start, while: .copying, sql)
      }
      throw PostgresError(
        .misuse, "This is no COPY FROM STDIN (FORMAT binary).", while: .copying, statement: sql)
    }
    let copy = PostgresCopy(self, sql)
    do {
      try body(copy)
      try copy.finish()
    } catch {
      // The server answers with an error that adds no information.
      _ = try? endCopy("The rows could not be read.", sql)
      throw error
    }
    return try endCopy(nil, sql)
  }

  /// Ends a copy, or cancels it if there is a reason, and reads the answer.
  fileprivate func endCopy(_ reason: String?, _ sql: String) throws(PostgresError) -> Int {
    guard PQputCopyEnd(connection, reason) == 1 else {
      throw PostgresError(nil, of: connection, while: .copying, statement: sql)
    }
    var count = 0
    var failure: PostgresError?
    while let result = PQgetResult(connection) {
      defer { PQclear(result) }
      do throws(PostgresError) {
        count = PQcmdTuples(try check(result, while: .copying, sql)).flatMap { Int(String(cString: $0)) } ?? 0
      } catch {
        if failure == nil { failure = error }
        if error.isConnectionLost { break }
      }
    }
    if let failure { throw failure }
    return count
  }
}

/// Text to copy into a table, as `COPY … TO STDOUT` produced it.
public final class PostgresTextCopy {
  private let owner: PostgresConnection
  private let sql: String

  /// Starts a copy. The connection must not be used otherwise until `finish`.
  ///
  /// - Parameter sql: `COPY table (columns) FROM STDIN`.
  /// - Throws: `PostgresError`, any code.
  public init(_ owner: PostgresConnection, _ sql: String) throws(PostgresError) {
    (self.owner, self.sql) = (owner, sql)
    let start = PQexec(owner.connection, sql)
    defer { PQclear(start) }
    if PQresultStatus(start) != PGRES_COPY_IN { _ = try owner.check(start, while: .copying, sql) }
  }

  /// Sends a part of the text.
  ///
  /// - Throws: `PostgresError.connectionLost`. The server's errors are thrown at the end of the copy.
  public func send(_ text: [UInt8]) throws(PostgresError) {
    let sent = text.withUnsafeBytes { bytes in
      PQputCopyData(
        owner.connection, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(clamping: bytes.count)
      )
    }
    if sent != 1 { throw PostgresError(nil, of: owner.connection, while: .copying, statement: sql) }
  }

  /// Ends the copy, and returns the number of rows.
  ///
  /// - Throws: `PostgresError`, any code.
  @discardableResult
  public func finish() throws(PostgresError) -> Int { try owner.endCopy(nil, sql) }
}

extension PostgresConnection {
  /// Copies a table's rows out of the database.
  ///
  /// - Parameters:
  ///   - sql: `COPY table (columns) TO STDOUT`.
  ///   - body: receives one or several rows, as the server sends them. If it throws, the connection is discarded.
  /// - Throws: `PostgresError`, any code, or the error of `body`.
  public func copyOut(_ sql: String, _ body: ([UInt8]) throws -> Void) throws {
    options.onStatement?(sql)
    let start = PQexec(connection, sql)
    defer { PQclear(start) }
    if PQresultStatus(start) != PGRES_COPY_OUT {
      _ = try check(start, while: .copying, sql)
      throw PostgresError(.misuse, "This is no COPY TO STDOUT.", while: .copying, statement: sql)
    }
    do {
      while true {
        var row: UnsafeMutablePointer<CChar>?
        let count = PQgetCopyData(connection, &row, 0)
        defer { PQfreemem(row) }
        if count == -1 { break }
        guard count >= 0, let row else {
          throw PostgresError(nil, of: connection, while: .copying, statement: sql)
        }
        try body(Array(UnsafeRawBufferPointer(start: row, count: Int(count))))
      }
    } catch {
      abandon()
      throw error
    }
    while let result = PQgetResult(connection) {
      defer { PQclear(result) }
      _ = try check(result, while: .copying, sql)
    }
  }
}
