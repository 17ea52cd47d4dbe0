internal import CPostgres

extension PostgresConnection {
  /// Runs one or many statements without parameters, passing over any rows.
  ///
  /// - Parameter sql: statements separated by semicolons; without BEGIN among them they are one transaction.
  /// - Throws: `PostgresError`, any code, of the first statement that fails; the rest are not run. `.misuse` for
  ///   COPY.
  public func execute(_ sql: String) throws(PostgresError) {
    // What ends a transaction without effect also ends what was wrong with it.
    if sql == "ROLLBACK" { faults.clear() }
    try faults.check()
    options.onStatement?(sql)
    let result = PQexec(connection, sql)
    defer { PQclear(result) }
    _ = try check(result, while: .running, sql, statementIsPublic: false)
  }

  /// Runs a statement and gives its rows.
  ///
  /// It is prepared at its first use on this connection, unless the options say otherwise. After a failure with
  /// `.featureNotSupported` or `.undefinedPreparedStatement` (the table was changed) all are prepared again, as
  /// soon as the connection is in no transaction.
  /// - Parameters:
  ///   - statement: exactly one statement.
  ///   - parameters: as many as the statement has, with the types of its first use.
  /// - Throws: `PostgresError`, any code; `.invalidText` before anything is sent when a text holds U+0000.
  public func query(
    _ statement: PostgresStatement, _ parameters: PostgresParameters = PostgresParameters()
  ) throws(PostgresError) -> PostgresRows {
    try query(statement, parameters, isKept: options.preparesStatements)
  }

  /// Runs a statement that is not kept prepared, and gives its rows: for one that a client's request has shaped, of which there may be
  /// ever so many.
  ///
  /// - Throws: as `query`.
  public func queryOnce(
    _ statement: PostgresStatement, _ parameters: PostgresParameters = PostgresParameters()
  ) throws(PostgresError) -> PostgresRows {
    try query(statement, parameters, isKept: false)
  }

  private func query(
    _ statement: PostgresStatement, _ parameters: PostgresParameters, isKept isPrepared: Bool
  ) throws(PostgresError) -> PostgresRows {
    try faults.check()
    try parameters.check(for: statement.sql)
    let connection = connection
    options.onStatement?(statement.sql)
    if isPrepared { try prepareIfNeeded(statement, parameters) }
    let result = parameters.withPointers { list in
      isPrepared
        ? PQexecPrepared(connection, statement.name, list.count, list.values, list.lengths, list.formats, 1)
        : PQexecParams(
          connection, statement.sql, list.count, list.types, list.values, list.lengths, list.formats, 1)
    }
    do throws(PostgresError) {
      return PostgresRows(try check(result, while: .running, statement.sql), faults)
    } catch {
      PQclear(result)
      throw error
    }
  }

  /// Runs a statement and gives the number of rows that it inserted, changed or deleted; see `query`.
  @discardableResult
  public func run(
    _ statement: PostgresStatement, _ parameters: PostgresParameters = PostgresParameters()
  ) throws(PostgresError) -> Int {
    try query(statement, parameters).affectedCount
  }

  /// Drops what the server keeps prepared when it has become stale, outside of a transaction.
  func dropStaleStatements() throws(PostgresError) {
    guard prepared.areStale, transactionStatus == .idle else { return }
    try execute("DEALLOCATE ALL")
    prepared.removeAll()
  }

  private func prepareIfNeeded(
    _ statement: PostgresStatement, _ parameters: PostgresParameters
  ) throws(PostgresError) {
    try dropStaleStatements()
    if prepared.contains(statement, parameters.types) { return }
    let result = PQprepare(
      connection, statement.name, statement.sql, Int32(clamping: parameters.count), parameters.types)
    defer { PQclear(result) }
    _ = try check(result, while: .preparing, statement.sql)
    prepared.insert(statement, parameters.types)
  }

  /// Passes a result on that is no error; the caller frees it either way.
  func check(
    _ result: OpaquePointer?, while action: PostgresError.Action, _ sql: String,
    statementIsPublic: Bool = true
  ) throws(PostgresError) -> OpaquePointer {
    switch PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
      if let result { return result }
    case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
      // Nobody will feed or read the copy, and the protocol has no other way out of it for every direction.
      abandon()
      throw PostgresError(.misuse, "COPY is run by copyIn.", while: action)
    default: break
    }
    let error = PostgresError(
      result, of: connection, while: action, statement: sql, statementIsPublic: statementIsPublic)
    prepared.notice(error)
    throw error
  }
}
