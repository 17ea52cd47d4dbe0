internal import CSQLite
import HoldfastCore
import HoldfastSystem

/// A prepared statement: bind its parameters, step through its rows, use it again.
///
/// It belongs to its connection's thread. `step()` resets the statement after the last row and on a failure, so a loop needs only `bind`
/// and `step`. Bindings stay until they are replaced or cleared. Call `reset()` when you leave before the last row: until then the
/// statement keeps a read transaction open.
package final class Statement {
  let handle: OpaquePointer
  let database: OpaquePointer
  private let observation: Observation

  /// The tables that this statement may write, and those among them that SQLite's update hook does not report.
  private let written: TextSet
  private let unhooked: TextSet

  /// What the authorizer named as read: tables, views, and names within the statement.
  private let named: TextSet

  // A statement has one thread, and none of these is used while it is changed: the check for that, at run time, would take as long as a row.

  /// Counters at the first step, to detect whether the statement changed anything.
  @exclusivity(unchecked) private var rowsSeenBefore: UInt64 = 0
  @exclusivity(unchecked) private var totalChangesBefore: Int32 = 0

  /// When it was started, if slow statements are reported.
  @exclusivity(unchecked) private var started: ContinuousClock.Instant?

  /// Whether the statement has started, and has neither ended nor been reset.
  @exclusivity(unchecked) package private(set) var isRunning = false

  init(
    _ handle: OpaquePointer, of database: OpaquePointer, _ observation: Observation, read: TextSet,
    written: TextSet
  ) {
    self.handle = handle
    self.database = database
    self.observation = observation
    named = read
    self.written = written.filter { !$0.hasPrefix("sqlite_") }
    unhooked = self.written.filter { database.isTable($0) && !database.hasRowID($0) }
  }

  deinit { sqlite3_finalize(handle) }

  /// The statement's text, with its placeholders.
  package var sql: String { sqlite3_sql(handle).map { String(cString: $0) } ?? "" }

  /// Whether the statement changes nothing in the database.
  package var isReadOnly: Bool { sqlite3_stmt_readonly(handle) != 0 }

  /// The highest parameter number; 0 if there are none.
  package var parameterCount: Int { Int(sqlite3_bind_parameter_count(handle)) }

  /// The tables that the statement reads, also through views, triggers and subqueries; not SQLite's own.
  private(set) lazy var tablesRead = database.tables(among: named)

  /// Advances to the next row.
  ///
  /// - Returns: whether there is a row. False means that the statement is complete (and, outside a transaction, committed) and has been
  ///   reset.
  /// - Throws: `SQLiteError`, any code; the statement has been reset.
  @discardableResult
  package func step() throws(SQLiteError) -> Bool {
    if !isRunning {
      guard !observation.isClosed else {
        throw SQLiteError(.misuse, "The connection has been closed.", statement: sql)
      }
      if let before = observation.beforeWriting, !written.isDisjoint(with: before.tables) {
        try before.action()
      }
      isRunning = true
      if observation.slow != nil { started = .now }
      observation.used(tablesRead)
      if observation.isObserving {
        rowsSeenBefore = observation.rowsSeen
        totalChangesBefore = sqlite3_total_changes(database)
      }
    }
    let result = sqlite3_step(handle)
    if result == SQLITE_ROW { return true }
    if result == SQLITE_DONE {
      end()
      return false
    }
    let error = SQLiteError(result, of: database, statement: sql, while: .running)
    end()
    throw error
  }

  /// Steps to the end, skipping any rows.
  ///
  /// - Throws: `SQLiteError`, any code; the statement has been reset.
  package func run() throws(SQLiteError) {
    while try step() {}
  }

  /// Prepares the statement to start again; bindings stay. Does nothing if it is not running.
  ///
  /// A write with RETURNING outside a transaction commits only when it is stepped to its end, so that a failed commit can be thrown. To
  /// skip its remaining rows, use `run()`, not `reset()`.
  package func reset() {
    if isRunning { end() }
  }

  /// Sets every parameter to NULL and releases bound bytes.
  package func clearBindings() { sqlite3_clear_bindings(handle) }

  /// Resets the statement, then reports changed and committed tables.
  private func end() {
    sqlite3_reset(handle)
    isRunning = false
    defer { started = nil }
    if let started, let slow = observation.slow {
      let duration = started.duration(to: .now)
      if duration >= slow.limit { slow.report(sql, took: duration) { queryPlan(of: sql, in: database) } }
    }
    guard observation.isObserving else { return }
    if !written.isEmpty, sqlite3_total_changes(database) != totalChangesBefore {
      observation.changedAny(observation.rowsSeen == rowsSeenBefore ? written : unhooked)
    }
    observation.settle(database)
  }
}

extension OpaquePointer {
  /// The tables among the names that the authorizer heard. Views and common table expressions are named too, and are not tables; a table-valued
  /// function names sqlite_master when it is first met.
  func tables(among names: TextSet) -> TextSet {
    names.filter { !$0.hasPrefix("sqlite_") && isTable($0) }
  }

  /// Whether the database that this points to has a table (not a view) of this name, also one that a temporary view hides.
  func isTable(_ name: String) -> Bool {
    sqlite3_table_column_metadata(self, nil, name, nil, nil, nil, nil, nil, nil) == SQLITE_OK
      || sqlite3_table_column_metadata(self, "main", name, nil, nil, nil, nil, nil, nil) == SQLITE_OK
  }

  /// Whether the table has a rowid, and is therefore reported by the update hook.
  fileprivate func hasRowID(_ name: String) -> Bool {
    sqlite3_table_column_metadata(self, nil, name, "rowid", nil, nil, nil, nil, nil) == SQLITE_OK
  }
}
