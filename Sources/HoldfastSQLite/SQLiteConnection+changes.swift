internal import CSQLite
public import HoldfastCore

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
    observation.observe(database, handler)
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
    // Views and common table expressions are named too, and are not tables; a table-valued function names
    // sqlite_master when it is first met.
    return outcome.read.filter { !$0.hasPrefix("sqlite_") && database.isTable($0) }
  }
}
