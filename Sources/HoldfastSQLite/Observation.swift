internal import CSQLite
import HoldfastCore
import HoldfastSystem

/// Tracks, through SQLite's callbacks, which tables a statement names while it is prepared, and which tables the open transaction has
/// changed.
///
/// SQLite's update hook is not called for WITHOUT ROWID tables, nor for a DELETE without WHERE, which empties a table at once. So each
/// statement also knows from the authorizer which tables it writes. Sources: <https://www.sqlite.org/c3ref/update_hook.html>,
/// <https://www.sqlite.org/c3ref/set_authorizer.html>.
///
/// What each step of a statement asks for is not checked at run time for exclusive access: it belongs to the connection's thread, and is not used while
/// it is changed.
final class Observation {
  /// Called after each commit with what it changed.
  @exclusivity(unchecked) private(set) var handler: ((SQLiteChanges) -> Void)?

  /// The tables changed since the transaction began, in the order of their first changes. A savepoint that is rolled back leaves the rows that it has
  /// changed of those from before it.
  @exclusivity(unchecked) private var changed: [ChangedTable] = []

  /// The tables that the statements since `collectReads` read; nil when nobody asks.
  @exclusivity(unchecked) private var read: TextSet?

  /// The number of rows that the update hook has seen; it wraps around.
  @exclusivity(unchecked) private(set) var rowsSeen: UInt64 = 0

  /// Whether a COMMIT has begun and its success is still unknown.
  @exclusivity(unchecked) private var commitBegan = false

  /// What is done before each statement that may write one of some tables.
  var beforeWriting: (tables: TextSet, action: () throws(SQLiteError) -> Void)?

  /// Receives statements that take too long; nil, the default, for nobody.
  @exclusivity(unchecked) var slow: SlowStatements?

  /// The number of pages in the write-ahead log after the last commit, if checkpoints are deferred.
  var pagesInLog = 0

  /// Whether the connection is closed. SQLite itself would continue to serve open statements.
  @exclusivity(unchecked) private(set) var isClosed = false

  /// Names collected while a statement is prepared; nil at other times.
  private var named: (read: TextSet, written: TextSet)?

  /// The triggers that a statement runs, each with the tables that it writes; nil unless `collectTriggers` asks.
  private var triggers: TextMap<TextSet>?

  var isObserving: Bool { handler != nil }

  /// Installs the authorizer permanently. Setting it again would make SQLite prepare every statement again.
  func attach(to database: OpaquePointer) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    sqlite3_set_authorizer(
      database,
      { context, action, table, _, _, trigger in
        if let trigger, let context {
          let isWrite = action == SQLITE_INSERT || action == SQLITE_UPDATE || action == SQLITE_DELETE
          Unmanaged<Observation>.fromOpaque(context).takeUnretainedValue()
            .note(trigger: trigger, writing: isWrite ? table : nil)
        }
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

  /// Removes every callback from `database`. This object may then be released.
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
        let observation = Unmanaged<Observation>.fromOpaque(context).takeUnretainedValue()
        observation.rowsSeen &+= 1
        observation.table(table).add(row)
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

  /// Collects the tables that the authorizer reports during `prepare`.
  func collect(_ prepare: () -> Int32) -> (result: Int32, read: TextSet, written: TextSet) {
    let outer = named
    named = ([], [])
    let result = prepare()
    let names = named ?? ([], [])
    named = outer
    return (result, names.read, names.written)
  }

  /// Collects the triggers that the authorizer reports during `prepare`, each with the tables that it writes itself.
  func collectTriggers(_ prepare: () -> Int32) -> (result: Int32, triggers: TextMap<TextSet>) {
    triggers = [:]
    defer { triggers = nil }
    let result = prepare()
    return (result, triggers ?? [:])
  }

  /// Reports the tables of a successful commit. Call it after a statement has ended and is reset.
  func settle(_ database: OpaquePointer) {
    guard commitBegan else { return }
    commitBegan = false
    guard sqlite3_get_autocommit(database) != 0, !changed.isEmpty else { return }
    let committed = SQLiteChanges(changed)
    purge()
    handler?(committed)
  }

  /// Notes tables of which any row may have changed.
  func changedAny(_ names: TextSet) {
    for name in names { name.withCString { table($0) }.addAny() }
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

  /// Discards the changes of the open transaction.
  private func purge() {
    changed.removeAll(keepingCapacity: true)
    commitBegan = false
  }

  /// How many tables have changed, for a savepoint.
  var mark: Int { changed.count }

  /// Leaves out the tables that a savepoint was the first to change, as it is rolled back.
  func restore(to mark: Int) { changed.removeLast(max(0, changed.count - mark)) }

  /// A table that the open transaction changes, by a name that SQLite gives: mostly one of the last ones.
  private func table(_ name: UnsafePointer<CChar>) -> ChangedTable {
    if let known = changed.last(where: { $0.isNamed(name) }) { return known }
    let table = ChangedTable(name)
    changed.append(table)
    return table
  }

  private func note(trigger: UnsafePointer<CChar>, writing table: UnsafePointer<CChar>?) {
    guard triggers != nil else { return }
    let name = String(cString: trigger)
    var written = triggers?[name] ?? []
    if let table { written.insert(String(cString: table)) }
    triggers?[name] = written
  }

  private func note(_ table: UnsafePointer<CChar>, written: Bool) {
    guard named != nil else { return }
    let name = String(cString: table)
    if written { named?.written.insert(name) } else { named?.read.insert(name) }
  }
}
