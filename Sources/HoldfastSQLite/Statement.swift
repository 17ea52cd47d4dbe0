internal import CSQLite
import HoldfastCore

/// One prepared statement: bind its parameters, step through its rows, use it again.
///
/// Belongs to its connection's thread. `step()` resets the statement by itself when the last row is past or
/// when it fails, so a loop is only `bind` and `step`; bindings stay until they are replaced or cleared. Call
/// `reset()` when you leave before the last row: until then the statement holds a read transaction open.
public final class Statement {
  let handle: OpaquePointer
  let database: OpaquePointer
  private let observation: Observation

  /// Tables that this statement may write, and those among them that SQLite's update hook says nothing about.
  private let written: TextSet
  private let unhooked: TextSet

  /// What the authorizer named as read: tables, views, and names within the statement.
  private let named: TextSet

  /// Counts at the first step, to tell whether the statement changed anything.
  private var rowsSeenBefore: UInt64 = 0
  private var totalChangesBefore: Int32 = 0

  /// Whether the statement has begun and neither ended nor been reset.
  public private(set) var isRunning = false

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
  public var sql: String { sqlite3_sql(handle).map { String(cString: $0) } ?? "" }

  /// Whether the statement changes nothing in the database.
  public var isReadOnly: Bool { sqlite3_stmt_readonly(handle) != 0 }

  /// The highest parameter number, 0 when there are none.
  public var parameterCount: Int { Int(sqlite3_bind_parameter_count(handle)) }

  /// The tables that the statement reads, also through views, triggers and subqueries; not SQLite's own.
  private(set) lazy var tablesRead = database.tables(among: named)

  /// Goes to the next row.
  ///
  /// - Returns: whether there is a row; false means that the statement is complete (and, outside a
  ///   transaction, committed) and has been reset.
  /// - Throws: `SQLiteError`, any code; the statement has been reset.
  @discardableResult
  public func step() throws(SQLiteError) -> Bool {
    if !isRunning {
      guard !observation.isClosed else {
        throw SQLiteError(.misuse, "The connection has been closed.", statement: sql)
      }
      isRunning = true
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

  /// Steps to the end, passing over any rows.
  ///
  /// - Throws: `SQLiteError`, any code; the statement has been reset.
  public func run() throws(SQLiteError) {
    while try step() {}
  }

  /// Makes the statement ready to begin again; bindings stay. Does nothing when it is not running.
  ///
  /// A write with RETURNING outside a transaction commits only when it is stepped to its end, so that a
  /// failure to commit can be thrown: use `run()`, not `reset()`, to leave its remaining rows.
  public func reset() {
    if isRunning { end() }
  }

  /// Sets every parameter to NULL and lets go of bound bytes.
  public func clearBindings() { sqlite3_clear_bindings(handle) }

  /// Resets, then reports what was changed and committed.
  private func end() {
    sqlite3_reset(handle)
    isRunning = false
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

  /// Whether the database that this points to has a table (not a view) of this name.
  func isTable(_ name: String) -> Bool {
    sqlite3_table_column_metadata(self, nil, name, nil, nil, nil, nil, nil, nil) == SQLITE_OK
  }

  /// Whether the table has a rowid, and so speaks through the update hook.
  fileprivate func hasRowID(_ name: String) -> Bool {
    sqlite3_table_column_metadata(self, nil, name, "rowid", nil, nil, nil, nil, nil) == SQLITE_OK
  }
}
