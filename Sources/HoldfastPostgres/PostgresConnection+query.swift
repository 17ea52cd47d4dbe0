internal import CPostgres

extension PostgresConnection {
  /// Runs one or several statements without parameters, skipping any rows.
  ///
  /// - Parameter sql: statements separated by semicolons; without BEGIN among them they are one transaction.
  /// - Throws: `PostgresError`, any code, of the first statement that fails; the rest are not run. `.misuse` for COPY.
  public func execute(_ sql: String) throws(PostgresError) {
    // A rollback also discards recorded faults.
    if sql == "ROLLBACK" { faults.clear() }
    try faults.check()
    options.onStatement?(sql)
    let start = slow.start
    // The text may have values, as of SET.
    defer { slow.add(String(sql.prefix { $0.isLetter }), since: start, on: self) }
    let result = try exchange { PQsendQuery($0, sql) }
    defer { PQclear(result) }
    _ = try check(result, while: .running, sql, statementIsPublic: false)
  }

  /// Runs a statement, and returns its rows.
  ///
  /// It is prepared at its first use on this connection, unless the options disable that. After a failure with `.featureNotSupported` or
  /// `.undefinedPreparedStatement` (the table was changed), all statements are prepared again as soon as the connection is outside of a
  /// transaction.
  /// - Parameters:
  ///   - statement: exactly one statement.
  ///   - parameters: one for each parameter, with the types of its first use.
  /// - Throws: `PostgresError`, any code; `.invalidText` before anything is sent if a text contains U+0000.
  public func query(
    _ statement: PostgresStatement, _ parameters: PostgresParameters = PostgresParameters()
  ) throws(PostgresError) -> PostgresRows {
    try query(statement, parameters, isKept: options.preparesStatements)
  }

  /// Runs a statement without keeping it prepared, and returns its rows. Use it for generated statements, whose number is unlimited.
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
    options.onStatement?(statement.sql)
    let start = slow.start
    if isPrepared { try prepareIfNeeded(statement, parameters) }
    defer { slow.add([.run(statement, types: parameters.types)], since: start, on: self) }
    let result = try exchange { connection in
      parameters.withPointers { list in
        isPrepared
          ? PQsendQueryPrepared(
            connection, statement.name, list.count, list.values, list.lengths, list.formats, 1)
          : PQsendQueryParams(
            connection, statement.sql, list.count, list.types, list.values, list.lengths, list.formats, 1)
      }
    }
    do throws(PostgresError) {
      return PostgresRows(try check(result, while: .running, statement.sql), faults)
    } catch {
      PQclear(result)
      throw error
    }
  }

  /// Runs a statement, and returns the number of rows that it inserted, changed or deleted; see `query`.
  @discardableResult
  public func run(
    _ statement: PostgresStatement, _ parameters: PostgresParameters = PostgresParameters()
  ) throws(PostgresError) -> Int {
    try query(statement, parameters).affectedCount
  }

  /// Deallocates stale prepared statements, outside of a transaction.
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
    let result = try exchange {
      PQsendPrepare($0, statement.name, statement.sql, Int32(clamping: parameters.count), parameters.types)
    }
    defer { PQclear(result) }
    _ = try check(result, while: .preparing, statement.sql)
    prepared.insert(statement, parameters.types)
  }

  /// Sends a statement, and waits for its last result, as `PQexec` does, but no longer than the server may be silent. Nil if nothing could be
  /// sent.
  func exchange(_ send: (OpaquePointer) -> Int32) throws(PostgresError) -> OpaquePointer? {
    guard PQsetnonblocking(connection, 1) == 0 else { return nil }
    defer { if isUsable { PQsetnonblocking(connection, 0) } }
    guard send(connection) == 1 else { return nil }
    try flush()
    var last: OpaquePointer?
    do throws(PostgresError) {
      while let result = try nextResult() {
        PQclear(last)
        last = result
        // A copy has no end until it is run.
        if [PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH].contains(PQresultStatus(result)) { break }
      }
    } catch {
      // A fatal error of the server says more than the end of the connection that follows it.
      if last != nil, PQresultStatus(last) == PGRES_FATAL_ERROR { return last }
      PQclear(last)
      throw error
    }
    return last
  }

  /// Returns a result that is no error. The caller frees it in any case.
  func check(
    _ result: OpaquePointer?, while action: PostgresError.Action, _ sql: String,
    statementIsPublic: Bool = true
  ) throws(PostgresError) -> OpaquePointer {
    switch PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
      if let result { return result }
    case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
      // The copy can't be continued here, and the protocol has no other end that works in every direction.
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
