internal import CSQLite
import HoldfastCore

/// What SQLite's callbacks tell about one connection: which tables a statement names while it is prepared,
/// and which tables the open transaction has changed.
///
/// SQLite's update hook is silent for WITHOUT ROWID tables and for a DELETE without WHERE, which empties a
/// table at once. So each statement also knows from the authorizer what it writes, and that counts when the
/// hook can't speak. Sources: <https://www.sqlite.org/c3ref/update_hook.html>,
/// <https://www.sqlite.org/c3ref/set_authorizer.html>.
final class Observation {
  /// Called after each commit with what it changed.
  private(set) var handler: ((SQLiteChanges) -> Void)?

  /// The tables changed since the transaction began.
  private(set) var tables: TextSet = []

  /// Their rows. A savepoint that is rolled back leaves what it has changed.
  private var rows: TextMap<ChangedRows> = [:]

  /// Those of the table of the last row seen.
  private var lastRows: ChangedRows?

  /// The tables that the statements since `collectReads` read; nil when nobody asks.
  private var read: TextSet?

  /// How many rows the update hook has seen; wraps.
  private(set) var rowsSeen: UInt64 = 0

  /// The table of the last row seen, so that a run of rows of one table costs one comparison each.
  private var last: ContiguousArray<CChar> = []

  /// Whether a COMMIT has begun that has not yet been seen to succeed.
  private var commitBegan = false

  /// How many pages the write-ahead log had after the last commit, where checkpoints are deferred.
  var pagesInLog = 0

  /// Whether the connection was closed: SQLite itself would go on serving statements that are still held.
  private(set) var isClosed = false

  /// Names collected while a statement is prepared; nil at other times.
  private var named: (read: TextSet, written: TextSet)?

  var isObserving: Bool { handler != nil }

  /// Installs the authorizer for good: setting it again later would make SQLite prepare every statement again.
  func attach(to database: OpaquePointer) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    sqlite3_set_authorizer(
      database,
      { context, action, table, _, _, _ in
        if action == SQLITE_READ || action == SQLITE_INSERT || action == SQLITE_UPDATE
          || action == SQLITE_DELETE,
          let context, let table
        {
          Unmanaged<Observation>.fromOpaque(context).takeUnretainedValue()
            .note(table, written: action != SQLITE_READ)
        }
        return SQLITE_OK
      }, context)
  }

  /// Removes every callback from `database`; this object may then go.
  func detach(from database: OpaquePointer) {
    isClosed = true
    observe(database, nil)
    sqlite3_wal_hook(database, nil, nil)
    sqlite3_set_authorizer(database, nil, nil)
  }

  /// Starts calling `handler`, or stops when nil. Changes made before are not reported.
  func observe(_ database: OpaquePointer, _ handler: ((SQLiteChanges) -> Void)?) {
    self.handler = handler
    purge()
    guard handler != nil else {
      sqlite3_update_hook(database, nil, nil)
      sqlite3_commit_hook(database, nil, nil)
      sqlite3_rollback_hook(database, nil, nil)
      return
    }
    let context = Unmanaged.passUnretained(self).toOpaque()
    sqlite3_update_hook(
      database,
      { context, _, _, table, row in
        guard let context, let table else { return }
        Unmanaged<Observation>.fromOpaque(context).takeUnretainedValue().changed(table, row)
      }, context)
    sqlite3_commit_hook(
      database,
      { context in
        if let context { Unmanaged<Observation>.fromOpaque(context).takeUnretainedValue().commitBegan = true }
        return 0
      }, context)
    sqlite3_rollback_hook(
      database,
      { context in
        if let context { Unmanaged<Observation>.fromOpaque(context).takeUnretainedValue().purge() }
      }, context)
  }

  /// Gives the names that the authorizer hears during `prepare`.
  func collect(_ prepare: () -> Int32) -> (result: Int32, read: TextSet, written: TextSet) {
    let outer = named
    named = ([], [])
    let result = prepare()
    let names = named ?? ([], [])
    named = outer
    return (result, names.read, names.written)
  }

  /// Reports the tables of a commit that has succeeded. Call when a statement has ended and is reset.
  func settle(_ database: OpaquePointer) {
    guard commitBegan else { return }
    commitBegan = false
    guard sqlite3_get_autocommit(database) != 0, !tables.isEmpty else { return }
    let committed = TextMap(tables.map { ($0, rows[$0]?.rows ?? .any) })
    purge()
    handler?(SQLiteChanges(committed))
  }

  /// Notes tables of which any row may have changed.
  func changedAny(_ names: TextSet) {
    tables.formUnion(names)
    for name in names {
      let known = rows[name, default: ChangedRows()]
      rows[name] = known
      known.addAny()
    }
  }

  /// Runs `body` and gives the names of the tables that its statements read.
  func collectReads<Result>(_ body: () throws -> Result) rethrows -> (result: Result, tables: TextSet) {
    let outer = read
    read = []
    defer {
      if let inner = read { read = outer.map { $0.union(inner) } }
    }
    let result = try body()
    return (result, read ?? [])
  }

  /// Notes what a statement that is about to be used reads.
  func used(_ names: @autoclosure () -> TextSet) { if read != nil { read?.formUnion(names()) } }

  /// Drops what is known of the open transaction.
  private func purge() {
    tables = []
    rows = [:]
    (last, lastRows) = ([], nil)
    commitBegan = false
  }

  /// Takes the set of changed tables back to what it was, for a savepoint that is rolled back.
  func restore(_ earlier: TextSet) {
    tables = earlier
    (last, lastRows) = ([], nil)
  }

  private func changed(_ table: UnsafePointer<CChar>, _ row: Int64) {
    rowsSeen &+= 1
    let isLast = last.withUnsafeBufferPointer { known in
      if let base = known.baseAddress { sqlite3_stricmp(base, table) == 0 } else { false }
    }
    if isLast, let lastRows { return lastRows.add(row) }
    let name = String(cString: table)
    last = ContiguousArray(name.utf8CString)
    tables.insert(name)
    let known = rows[name, default: ChangedRows()]
    rows[name] = known
    known.add(row)
    lastRows = known
  }

  private func note(_ table: UnsafePointer<CChar>, written: Bool) {
    guard named != nil else { return }
    let name = String(cString: table)
    if written { named?.written.insert(name) } else { named?.read.insert(name) }
  }
}
