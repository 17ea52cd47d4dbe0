internal import CSQLite
package import HoldfastCore

extension SQLiteConnection {
  /// When a transaction takes SQLite's locks.
  package enum TransactionKind: Sendable, Hashable {
    /// At the first read and the first write. A write fails immediately with `.busySnapshot` if another connection has written since the
    /// first read.
    case deferred
    /// Immediately, for writing. Waits for another writer up to the busy timeout, and can't fail for a lock afterwards.
    case immediate
  }

  /// How long a statement waits for another connection's lock before it throws `.busy`.
  package func setBusyTimeout(_ time: Duration) {
    sqlite3_busy_timeout(database, Int32(clamping: max(time.wholeMilliseconds, 0)))
  }

  /// Whether a transaction is open.
  package var isInTransaction: Bool { sqlite3_get_autocommit(database) == 0 }

  /// Checks that the open files are still at their paths: the database, its write-ahead log and the log's index. The log and its index are
  /// compared with those of the first call.
  ///
  /// Call it first after the connection has read, because SQLite creates the log then.
  /// - Throws: `SQLiteError` with `.readOnlyMoved`: writes go to a file without a path.
  package func checkPlace() throws(SQLiteError) {
    var hasMoved: Int32 = 0
    sqlite3_file_control(database, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
    let log = currentLog
    if logIdentity.isEmpty { logIdentity = log }
    if hasMoved == 0, log == logIdentity { return }
    throw Self.moved(isLog: hasMoved == 0)
  }

  /// The same for an attached database.
  package func checkPlace(ofAttached name: String) throws(SQLiteError) {
    var hasMoved: Int32 = 0
    sqlite3_file_control(database, name, SQLITE_FCNTL_HAS_MOVED, &hasMoved)
    let log = currentLog(of: name)
    let known = attachedLogs[name, default: log]
    attachedLogs[name] = known
    if hasMoved != 0 || log != known { throw Self.moved(isLog: hasMoved == 0) }
  }

  private static func moved(isLog: Bool) -> SQLiteError {
    SQLiteError(
      .readOnlyMoved,
      isLog
        ? "The write-ahead log of the database was moved, replaced or deleted since it was opened. Start again."
        : "The database file was moved, replaced or deleted since it was opened. Put it back, or start again.",
      statement: nil)
  }

  /// The database's file; empty for one in memory.
  package var path: String { path(of: "main") }

  private func path(of name: String) -> String {
    sqlite3_db_filename(database, name).map { String(cString: $0) } ?? ""
  }

  /// Whether the open write-ahead log was deleted and not replaced, so that only this connection has it.
  package var isLogGone: Bool { logIdentity.first != currentLog.first && currentLog.first == .some(nil) }

  private var currentLog: [FileIdentity?] { currentLog(of: "main") }

  private func currentLog(of name: String) -> [FileIdentity?] {
    let path = path(of: name)
    return [path + "-wal", path + "-shm"].map { FileIdentity(path: $0) }
  }

  /// Runs `body` while the database of another file has a name on this connection.
  package func attaching<Value>(_ path: String, as name: String, _ body: () throws -> Value) throws -> Value {
    try run("ATTACH ? AS \(name)", [.text(path)])
    defer { try? run("DETACH \(name)") }
    return try body()
  }

  /// Runs `body` while the triggers of the file do not fire for this connection.
  ///
  /// Every statement is prepared again before its next use, and again afterwards, so this pays for some thousand rows and more. Source:
  /// <https://www.sqlite.org/c3ref/c_dbconfig_defensive.html#sqlitedbconfigenabletrigger>.
  package func withoutTriggers<Value>(_ body: () throws -> Value) rethrows -> Value {
    _ = holdfast_set_triggers(database, 0)
    defer { _ = holdfast_set_triggers(database, 1) }
    return try body()
  }

  /// Runs `body`, and before each of its statements that may write one of some tables, also by way of triggers, an action.
  package func beforeWriting<Value>(
    _ tables: TextSet, _ action: @escaping () throws(SQLiteError) -> Void, in body: () throws -> Value
  ) rethrows -> Value {
    observation.beforeWriting = (tables, action)
    defer { observation.beforeWriting = nil }
    return try body()
  }

  /// Whether a deferred foreign key leads nowhere now.
  package var hasOpenForeignKeys: Bool {
    var (open, highest): (Int32, Int32) = (0, 0)
    sqlite3_db_status(database, SQLITE_DBSTATUS_DEFERRED_FKS, &open, &highest, 0)
    return open != 0
  }

  /// Checks the deferred foreign keys now.
  ///
  /// - Throws: `SQLiteError` with `.constraintForeignKey`, as the commit would.
  package func checkForeignKeys() throws(SQLiteError) {
    if hasOpenForeignKeys {
      throw SQLiteError(.constraintForeignKey, "FOREIGN KEY constraint failed", statement: nil)
    }
  }

  /// Runs `body` in a transaction: commits when it returns, rolls back when it throws.
  ///
  /// A failed commit is rolled back too. No transaction is open afterwards in any case.
  /// - Parameters:
  ///   - kind: when locks are taken; default `immediate`.
  ///   - body: the work of the transaction; it must not begin or end a transaction. Nest with `savepoint`.
  /// - Returns: the result of `body`, after the commit.
  /// - Throws: the error of `body`; `.busy` if the lock is not available; `.error` inside another transaction; `.constraintForeignKey`,
  ///   `.full`, `.ioError` and others if the commit fails.
  package func transaction<T>(_ kind: TransactionKind = .immediate, _ body: () throws -> T) throws -> T {
    try run(kind == .immediate ? "BEGIN IMMEDIATE" : "BEGIN DEFERRED")
    do {
      let result = try body()
      try run("COMMIT")
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  /// Runs `body` in a savepoint: keeps its changes when it returns, rolls back only them when it throws.
  ///
  /// Outside a transaction it begins a deferred one. If SQLite can't roll back to the savepoint, the whole transaction is rolled back, so
  /// that no part of `body` is ever committed.
  /// - Parameters:
  ///   - name: a short constant name; savepoints may nest with the same name.
  ///   - body: the work of the savepoint.
  /// - Returns: the result of `body`.
  /// - Throws: the error of `body`; `SQLiteError` if the savepoint can't be created or, if outermost, not committed.
  package func savepoint<T>(_ name: String = "holdfast", _ body: () throws -> T) throws -> T {
    let quoted = SQLiteName.quoted(name)
    let isOutermost = !isInTransaction
    let mark = observation.mark
    try run("SAVEPOINT \(quoted)")
    do {
      let result = try body()
      try run("RELEASE \(quoted)")
      return result
    } catch {
      guard !isOutermost, isInTransaction else {
        rollBack()
        throw error
      }
      do {
        try run("ROLLBACK TO \(quoted)")
        try run("RELEASE \(quoted)")
        observation.restore(to: mark)
      } catch {
        rollBack()
      }
      throw error
    }
  }

  /// Rolls back the open transaction, unless SQLite already has.
  private func rollBack() {
    // ROLLBACK fails only without a transaction, which is the intended state.
    if isInTransaction { try? run("ROLLBACK") }
  }
}

extension SQLiteConnection {
  /// The number of rows that the last finished INSERT, UPDATE or DELETE changed, without those changed by triggers.
  package var changes: Int { Int(sqlite3_changes(database)) }

  /// The number of rows changed since the connection was opened, including triggers; wraps at 32 bits.
  package var totalChanges: Int { Int(sqlite3_total_changes(database)) }

  /// The rowid of the last row inserted into a table that has rowids, 0 before the first.
  package var lastInsertRowID: Int64 { sqlite3_last_insert_rowid(database) }

  /// A number that changes when another connection, of any process, commits. This connection's commits do not change it.
  ///
  /// - Throws: `SQLiteError` if the file can't be read. Source: <https://www.sqlite.org/pragma.html#pragma_data_version>.
  package var dataVersion: Int64 {
    get throws(SQLiteError) { try value("PRAGMA data_version")?.integer ?? 0 }
  }

  /// Calls `handler` after each commit of this connection with the names of the tables whose rows it changed.
  ///
  /// The call is on the connection's thread, after the commit and before the committing function returns. `handler` may use the connection.
  /// Rollbacks, rolled-back savepoints and commits without changed rows are not reported. A name too many is possible: after a failed
  /// statement inside a transaction, or a trigger that decided otherwise on a WITHOUT ROWID table. A missing name is not possible. A
  /// virtual table is reported by its shadow tables.
  /// - Parameter handler: replaces the previous one; nil stops observing. Changes of the currently open transaction are not reported.
  package func onChange(_ handler: ((TextSet) -> Void)?) {
    observation.observe(database, handler.map { handler in { handler($0.tables) } })
  }

  /// The same as `onChange`, with the row numbers of the rows as far as SQLite names them.
  ///
  /// - Parameter handler: replaces the one before, also of `onChange`.
  package func onCommit(_ handler: ((SQLiteChanges) -> Void)?) { observation.observe(database, handler) }

  /// Runs `body` and finds the tables that its statements read, also through views and subqueries.
  ///
  /// - Parameter body: what to do; statements that it only prepares do not count.
  package func collectingTables<Result>(
    _ body: () throws -> Result
  ) rethrows -> (result: Result, tables: TextSet) {
    try observation.collectReads(body)
  }

  /// The tables that a statement reads, including through views, triggers and subqueries. SQLite's own tables (`sqlite_…`) are left out.
  ///
  /// - Parameter sql: the text; its first statement is prepared, not run.
  /// - Throws: `.error` if the SQL is wrong.
  package func tablesRead(by sql: String) throws(SQLiteError) -> TextSet {
    var prepared: OpaquePointer?
    let outcome = observation.collect { sqlite3_prepare_v2(database, sql, -1, &prepared, nil) }
    try finish(prepared, outcome.result, of: sql)
    return database.tables(among: outcome.read)
  }

  /// The triggers that a statement may run, also by way of each other, with the tables that each writes itself.
  ///
  /// - Parameter sql: the text; its first statement is prepared, not run.
  /// - Throws: `.error` if the statement, or a trigger, names what is not there.
  package func triggers(runBy sql: String) throws(SQLiteError) -> TextMap<TextSet> {
    var prepared: OpaquePointer?
    let outcome = observation.collectTriggers { sqlite3_prepare_v2(database, sql, -1, &prepared, nil) }
    try finish(prepared, outcome.result, of: sql)
    return outcome.triggers
  }

  /// Ends a statement that was prepared for what it says of itself.
  ///
  /// - Throws: why it was not.
  private func finish(_ prepared: OpaquePointer?, _ result: Int32, of sql: String) throws(SQLiteError) {
    guard result == SQLITE_OK else {
      throw SQLiteError(result, of: database, statement: sql, while: .preparing)
    }
    sqlite3_finalize(prepared)
  }
}

extension SQLiteConnection {
  /// The commit that the database has reached; nil without a write-ahead log, and while a commit is just being made.
  package var commitState: CommitState? {
    if logIndex == nil { logIndex = holdfast_log_index(database) }
    guard let logIndex else { return nil }
    var header = SIMD8<UInt64>.zero
    let isWhole = withUnsafeMutableBytes(of: &header) { holdfast_copy_log_header(logIndex, $0.baseAddress) }
    return isWhole != 0 ? CommitState(header: header) : nil
  }
}
