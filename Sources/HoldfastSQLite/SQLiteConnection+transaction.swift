internal import CSQLite
public import HoldfastCore

extension SQLiteConnection {
  /// When a transaction takes SQLite's locks.
  public enum TransactionKind: Sendable, Hashable {
    /// At the first read and the first write. A write can fail at once with `.busySnapshot` if another
    /// connection wrote since the first read.
    case deferred
    /// For writing, at once: waits for another writer by the busy timeout, and can't fail for a lock
    /// afterwards.
    case immediate
  }

  /// Whether a transaction is open.
  public var isInTransaction: Bool { sqlite3_get_autocommit(database) == 0 }

  /// Looks whether the files that this connection has open are still where it opened them: the database, and beside it the write-ahead log and
  /// the index of that, which are held against what the first call found.
  ///
  /// Call it first when the connection has read: SQLite makes the log then.
  /// - Throws: `SQLiteError` with `.readOnlyMoved`: what is written goes into a file that nobody finds.
  public func checkPlace() throws(SQLiteError) {
    var hasMoved: Int32 = 0
    sqlite3_file_control(database, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
    let log = currentLog
    if logIdentity.isEmpty { logIdentity = log }
    if hasMoved == 0, log == logIdentity { return }
    throw SQLiteError(
      .readOnlyMoved,
      hasMoved == 0
        ? "The write-ahead log of the database was moved, replaced or deleted since it was opened. Start again."
        : "The database file was moved, replaced or deleted since it was opened. Put it back, or start again.",
      statement: nil)
  }

  /// Whether the write-ahead log that this connection has open was deleted, and no other stands in its place: so this connection alone has it.
  public var isLogGone: Bool { logIdentity.first != currentLog.first && currentLog.first == .some(nil) }

  private var currentLog: [FileIdentity?] {
    let path = sqlite3_db_filename(database, "main").map { String(cString: $0) } ?? ""
    return [path + "-wal", path + "-shm"].map { FileIdentity(path: $0) }
  }

  /// Looks whether the foreign keys that are checked at the commit hold now.
  ///
  /// - Throws: `SQLiteError` with `.constraintForeignKey`, as the commit would.
  public func checkForeignKeys() throws(SQLiteError) {
    var (open, highest): (Int32, Int32) = (0, 0)
    sqlite3_db_status(database, SQLITE_DBSTATUS_DEFERRED_FKS, &open, &highest, 0)
    if open != 0 { throw SQLiteError(.constraintForeignKey, "FOREIGN KEY constraint failed", statement: nil) }
  }

  /// Runs `body` in a transaction: commits when it returns, rolls back when it throws.
  ///
  /// When the commit itself fails, everything is rolled back as well; no transaction is open afterwards in
  /// any case.
  /// - Parameters:
  ///   - kind: when locks are taken; `immediate` unless given.
  ///   - body: what to do; it must not begin or end a transaction. Nest with `savepoint`.
  /// - Returns: what `body` returns, once committed.
  /// - Throws: what `body` throws; `.busy` when the lock can't be had; `.error` inside another transaction;
  ///   `.constraintForeignKey`, `.full`, `.ioError` and others when the commit fails.
  public func transaction<T>(_ kind: TransactionKind = .immediate, _ body: () throws -> T) throws -> T {
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

  /// Runs `body` in a savepoint: keeps its changes when it returns, undoes them, and only them, when it
  /// throws.
  ///
  /// Outside a transaction it is one itself, of the deferred kind. Should SQLite fail to undo, the whole
  /// transaction is rolled back, so that half of `body` is never committed.
  /// - Parameters:
  ///   - name: a short constant name; savepoints may nest with the same name.
  ///   - body: what to do.
  /// - Returns: what `body` returns.
  /// - Throws: what `body` throws; `SQLiteError` when the savepoint can't be made or, outermost, not
  ///   committed.
  public func savepoint<T>(_ name: String = "holdfast", _ body: () throws -> T) throws -> T {
    let parts = name.split(separator: "\"", omittingEmptySubsequences: false)
    let quoted = "\"" + parts.joined(separator: "\"\"") + "\""
    let isOutermost = !isInTransaction
    let tables = observation.tables
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
        observation.restore(tables)
      } catch {
        rollBack()
      }
      throw error
    }
  }

  /// Ends the open transaction, if SQLite has not done so already.
  private func rollBack() {
    // ROLLBACK only reports an error when there is no transaction left, which is what is wanted.
    if isInTransaction { try? run("ROLLBACK") }
  }
}

extension SQLiteConnection {
  /// How many rows the last finished INSERT, UPDATE or DELETE changed, without those changed by triggers.
  public var changes: Int { Int(sqlite3_changes(database)) }

  /// How many rows have been changed since the connection was opened, triggers included; wraps at 32 bits.
  public var totalChanges: Int { Int(sqlite3_total_changes(database)) }

  /// The rowid of the last row inserted into a table that has rowids, 0 before the first.
  public var lastInsertRowID: Int64 { sqlite3_last_insert_rowid(database) }

  /// A number that moves when another connection, of any process, has committed; this connection's own
  /// commits leave it.
  ///
  /// - Throws: `SQLiteError` when the file can't be read. Source:
  ///   <https://www.sqlite.org/pragma.html#pragma_data_version>.
  public var dataVersion: Int64 {
    get throws(SQLiteError) { try value("PRAGMA data_version")?.integer ?? 0 }
  }

  /// Calls `handler` after each commit of this connection with the names of the tables whose rows it changed.
  ///
  /// The call comes on the connection's thread when the commit has returned and before the function that
  /// committed does; `handler` may use the connection. Nothing is reported for a rollback, for what a rolled
  /// back `savepoint` had changed, or for a commit that changed no row. A name too many is possible (a failed
  /// statement inside a transaction, a trigger that decided otherwise on a WITHOUT ROWID table), a missing
  /// one is not. A virtual table shows by its shadow tables.
  /// - Parameter handler: replaces the one before; nil stops observing. Changes of a transaction that is open
  ///   now are not reported.
  public func onChange(_ handler: ((TextSet) -> Void)?) {
    observation.observe(database, handler.map { handler in { handler($0.tables) } })
  }

  /// The same as `onChange`, with the row numbers of the rows as far as SQLite names them.
  ///
  /// - Parameter handler: replaces the one before, also of `onChange`.
  public func onCommit(_ handler: ((SQLiteChanges) -> Void)?) { observation.observe(database, handler) }

  /// Runs `body` and finds the tables that its statements read, also through views and subqueries.
  ///
  /// - Parameter body: what to do; statements that it only prepares do not count.
  public func collectingTables<Result>(
    _ body: () throws -> Result
  ) rethrows -> (result: Result, tables: TextSet) {
    try observation.collectReads(body)
  }

  /// The tables that a statement reads, also through views, triggers and subqueries. SQLite's own tables
  /// (`sqlite_…`) are left out.
  ///
  /// - Parameter sql: the text; its first statement is looked at, and nothing is run.
  /// - Throws: `.error` when the SQL is wrong.
  public func tablesRead(by sql: String) throws(SQLiteError) -> TextSet {
    let database = database
    var prepared: OpaquePointer?
    let outcome = observation.collect { sqlite3_prepare_v2(database, sql, -1, &prepared, nil) }
    guard outcome.result == SQLITE_OK else {
      throw SQLiteError(outcome.result, of: database, statement: sql, while: .preparing)
    }
    sqlite3_finalize(prepared)
    return database.tables(among: outcome.read)
  }
}
