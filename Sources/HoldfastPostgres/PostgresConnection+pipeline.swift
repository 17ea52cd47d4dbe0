internal import CPostgres

extension PostgresConnection {
  /// Sends many statements in one round trip, and gives the rows of each.
  ///
  /// Without BEGIN among them they are one transaction, that of the connection if it is in one. When one fails,
  /// the server skips the rest, and the first failure is thrown. A transaction that began inside a pipeline which
  /// failed is rolled back; one that was open before is left as failed, to be rolled back by whoever began it.
  ///
  /// Any number and size will do: what is sent waits in memory while the server is busy, and answers are read
  /// while sending. Source: <https://www.postgresql.org/docs/15/libpq-pipeline-mode.html>.
  /// - Parameter body: sends the statements; it must not use the connection in another way, nor keep the pipeline.
  /// - Returns: the rows of each `send`, in order.
  /// - Throws: `PostgresError`, any code, of the first statement that failed; `.invalidText` when a text holds
  ///   U+0000, and then nothing has an effect either.
  @discardableResult
  public func pipeline(
    _ body: (PostgresPipeline) -> Void
  ) throws(PostgresError) -> [PostgresRows] {
    try pipeline(body, meanwhile: {})
  }

  /// Sends many statements in one round trip, does something while the server works on them, and gives the rows of each; see `pipeline`.
  ///
  /// - Parameter work: runs when all is sent; it must not use the connection.
  public func pipeline(
    _ body: (PostgresPipeline) -> Void, meanwhile work: () -> Void
  ) throws(PostgresError) -> [PostgresRows] {
    try faults.check()
    try dropStaleStatements()
    let wasIdle = transactionStatus == .idle
    guard PQenterPipelineMode(connection) == 1, PQsetnonblocking(connection, 1) == 0 else {
      throw PostgresError(nil, of: connection, while: .running, statement: nil)
    }
    let pipe = PostgresPipeline(self)
    body(pipe)
    var failure = pipe.failure
    // The sync that ends the pipeline would commit what was sent.
    if failure != nil, wasIdle { _ = PQsendQueryParams(connection, "ROLLBACK", 0, nil, nil, nil, nil, 1) }
    var rows: [PostgresRows] = []
    do throws(PostgresError) {
      rows = try finish(pipe.steps, expecting: pipe.count, meanwhile: work)
    } catch {
      if failure == nil { failure = error }
    }
    leavePipeline()
    guard let failure else { return rows }
    if wasIdle, isUsable, transactionStatus != .idle { try? execute("ROLLBACK") }
    throw failure
  }

  /// Sends all that libpq holds, reading what the server answers meanwhile: were it not read, both sides could wait
  /// for each other with full buffers.
  func flush() throws(PostgresError) {
    while true {
      let left = PQflush(connection)
      if left == 0 { return }
      guard left > 0 else { throw PostgresError(nil, of: connection, while: .running, statement: nil) }
      let ready = Readiness.wait(for: [.readable, .writable], of: PQsocket(connection), until: nil)
      if ready.contains(.readable) { try consumeInput() }
    }
  }

  /// Reads what has arrived.
  func consumeInput() throws(PostgresError) {
    if PQconsumeInput(connection) == 0 {
      throw PostgresError(nil, of: connection, while: .running, statement: nil)
    }
  }

  /// The next result, waited for; nil at the end of a statement's results.
  private func nextResult() throws(PostgresError) -> OpaquePointer? {
    while PQisBusy(connection) == 1 {
      _ = Readiness.wait(for: .readable, of: PQsocket(connection), until: nil)
      try consumeInput()
    }
    return PQgetResult(connection)
  }

  /// Ends a pipeline with a sync and reads all answers.
  private func finish(
    _ steps: [PostgresPipeline.Step], expecting count: Int, meanwhile work: () -> Void
  ) throws(PostgresError) -> [PostgresRows] {
    var rows: [PostgresRows] = []
    rows.reserveCapacity(count)
    var failure: PostgresError?
    var answered = 0
    // A statement is known only if its preparation was answered.
    defer {
      for case .prepare(let statement) in steps[answered...] { prepared.remove(statement) }
    }
    guard PQpipelineSync(connection) == 1 else {
      // Without a sync the server would never come to an end.
      let error = PostgresError(nil, of: connection, while: .running, statement: nil)
      abandon()
      throw error
    }
    try flush()
    work()
    for step in steps {
      let result = try nextResult()
      do throws(PostgresError) {
        let passed = try pass(result, of: step, after: failure)
        if let passed { rows.append(passed) }
      } catch {
        failure = error
      }
      if failure != nil, case .prepare(let statement) = step { prepared.remove(statement) }
      answered += 1
      if PQstatus(connection) != CONNECTION_OK { break }
      while let extra = try nextResult() { PQclear(extra) }
    }
    if let failure { throw failure }
    return rows
  }

  /// Takes one statement's result: its rows, or nil for a preparation and for what the server skipped.
  private func pass(
    _ result: OpaquePointer?, of step: PostgresPipeline.Step, after failure: PostgresError?
  ) throws(PostgresError) -> PostgresRows? {
    if failure != nil {
      PQclear(result)
      return nil
    }
    let isPreparation = if case .prepare = step { true } else { false }
    do throws(PostgresError) {
      let good = try check(result, while: isPreparation ? .preparing : .running, step.statement.sql)
      if isPreparation {
        PQclear(good)
        return nil
      }
      return PostgresRows(good, faults)
    } catch {
      PQclear(result)
      throw error
    }
  }

  /// Reads what is left up to the sync, and goes back to one statement at a time.
  private func leavePipeline() {
    while isUsable {
      guard let result = try? nextResult() else {
        // The end of a statement's results, of which more may follow; or nothing is left.
        if PQexitPipelineMode(connection) == 1 { break }
        if PQisBusy(connection) == 0, PQtransactionStatus(connection) != PQTRANS_ACTIVE { break }
        continue
      }
      let status = PQresultStatus(result)
      PQclear(result)
      if status == PGRES_PIPELINE_SYNC { break }
    }
    guard isUsable else { return }
    PQexitPipelineMode(connection)
    if PQpipelineStatus(connection) != PQ_PIPELINE_OFF || PQsetnonblocking(connection, 0) != 0 { abandon() }
  }
}
