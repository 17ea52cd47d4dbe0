internal import CPostgres

extension PostgresConnection {
  /// Sends many statements in one round trip, and returns the rows of each.
  ///
  /// Without BEGIN among them they are one transaction, or part of the connection's open one. If one fails, the server skips the rest, and
  /// the first error is thrown. A transaction that began inside a failed pipeline is rolled back. One that was open before is left as
  /// failed; its owner must roll it back.
  ///
  /// Number and size are unlimited: unsent statements wait in memory while the server is busy, and answers are read while sending. Source:
  /// <https://www.postgresql.org/docs/15/libpq-pipeline-mode.html>.
  /// - Parameter body: sends the statements. It must not use the connection otherwise, nor keep the pipeline.
  /// - Returns: the rows of each `send`, in order.
  /// - Throws: `PostgresError`, any code, of the first statement that failed; `.invalidText` if a text contains U+0000, and then nothing
  ///   takes effect either.
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
    let start = slow.start
    defer { slow.add(pipe.steps, since: start, on: self) }
    body(pipe)
    var failure = pipe.failure
    // The sync that ends the pipeline would commit the statements sent so far.
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

  /// Sends all bytes that libpq buffers, and reads answers meanwhile. Otherwise both sides could wait for each other with full buffers.
  func flush() throws(PostgresError) {
    while true {
      let left = PQflush(connection)
      if left == 0 { return }
      guard left > 0 else { throw PostgresError(nil, of: connection, while: .running, statement: nil) }
      let ready = try waitForServer([.readable, .writable])
      if ready.contains(.readable) { try consumeInput() }
    }
  }

  /// Reads the available bytes.
  func consumeInput() throws(PostgresError) {
    if PQconsumeInput(connection) == 0 {
      throw PostgresError(nil, of: connection, while: .running, statement: nil)
    }
  }

  /// Waits for the next result; nil at the end of a statement's results.
  func nextResult() throws(PostgresError) -> OpaquePointer? {
    while PQisBusy(connection) == 1 {
      _ = try waitForServer(.readable)
      try consumeInput()
    }
    return PQgetResult(connection)
  }

  /// Ends a pipeline with a sync, and reads all answers.
  private func finish(
    _ steps: [PostgresPipeline.Step], expecting count: Int, meanwhile work: () -> Void
  ) throws(PostgresError) -> [PostgresRows] {
    var rows: [PostgresRows] = []
    rows.reserveCapacity(count)
    var failure: PostgresError?
    var answered = 0
    // A statement counts as prepared only after the answer to its preparation.
    defer {
      for case .prepare(let statement) in steps[answered...] { prepared.remove(statement) }
    }
    guard PQpipelineSync(connection) == 1 else {
      // Without a sync the server would not end the pipeline.
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

  /// Handles one statement's result: returns its rows, or nil for a preparation and for a skipped statement.
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

  /// Reads the remaining results up to the sync, and leaves pipeline mode.
  private func leavePipeline() {
    while isUsable {
      guard let result = try? nextResult() else {
        // The end of a statement's results; more may follow.
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
