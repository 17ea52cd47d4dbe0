import HoldfastCore
import HoldfastSQLite
import HoldfastSystem

/// What has come of a live query.
enum LiveResult<Value> {
  case new(Value)
  /// The same as before.
  case same
  /// It was not read, as the changes can't concern it.
  case spared

  /// The value, where it is new.
  var value: Value? { if case .new(let value) = self { value } else { nil } }
}

/// What a live query reads, and how it finds out that nothing is new.
struct LiveSource<Value: Sendable>: Sendable {
  /// Reads. `changes` is what was changed since the last time, nil for anything.
  typealias Read = (_ database: Database, _ changes: SQLiteChanges?) throws -> LiveResult<Value>

  /// Makes a reader, which remembers what it read.
  let makeRead: @Sendable () -> Read

  /// The rows of a query, as `make` reads them. They are compared before they are read.
  static func rows(
    _ sql: SQL, _ make: @escaping @Sendable (_ names: [String], _ rows: [[SQLiteValue]]) throws -> Value
  ) -> LiveSource {
    LiveSource {
      var last: [[SQLiteValue]]?
      return { database, _ in
        let (names, rows) = try database.rows(sql)
        if rows == last { return .same }
        last = rows
        return .new(try make(names, rows))
      }
    }
  }

  /// The value of a function.
  static func value(_ read: @escaping @Sendable (Database) throws -> Value) -> LiveSource
  where Value: Equatable {
    LiveSource {
      var last: Value?
      return { database, _ in
        let value = try read(database)
        if value == last { return .same }
        last = value
        return .new(value)
      }
    }
  }

  /// The records of a selection. A change that touches none of them, and makes no other record one of them, is told from others by its rows alone.
  static func selection<R: Record>(_ selection: RecordSelection<R>) -> LiveSource where Value == [R] {
    LiveSource {
      var last: SelectedRows?
      return { database, changes in
        // Rows of several files may have one number.
        let isOneFile = database.local.fileNames.count == 1
        if isOneFile, let last, case .numbers(let changed)? = changes?.rows(of: R.table), last.canSpare,
          last.numbers.isDisjoint(with: changed), try !last.areConcerned(by: changed, selection, database)
        {
          return .spared
        }
        let ((names, rows), tables) = try database.local.connection.collectingTables {
          try database.rows(selection.query(withRowNumbers: isOneFile))
        }
        if let last, rows == last.rows { return .same }
        let canSpare =
          isOneFile && selection.looksAtRowsAlone && tables == [R.table]
          && database.local.schema.table(R.table) != nil
        last = SelectedRows(names, rows, canSpare: canSpare)
        return .new(try rows.map { try RowDecoder.decode(R.self, names: names, values: $0) })
      }
    }
  }
}

/// What a live selection has read.
private struct SelectedRows {
  let rows: [[SQLiteValue]]
  /// Their numbers, and the ids of the records.
  let numbers: Set<Int64>
  private let ids: TextSet
  /// Whether the changed rows of the table can say that nothing is new. In tables that are not the schema's, a row may replace others that no commit names.
  let canSpare: Bool

  init(_ names: [String], _ rows: [[SQLiteValue]], canSpare: Bool) {
    (self.rows, self.canSpare) = (rows, canSpare)
    numbers = Set(rows.compactMap { $0.first?.integer })
    ids = names.firstIndex(of: "id").map { id in TextSet(rows.compactMap { $0[id].text }) } ?? []
  }

  /// Whether one of the changed rows is selected now, or has the id of a record that was: a row that replaces another has a number of its own, and no
  /// commit names the one before.
  func areConcerned<R: Record>(
    by changed: Set<Int64>, _ selection: RecordSelection<R>, _ database: Database
  ) throws -> Bool {
    try database.rows(
      "SELECT \"id\", (\(try selection.test())) IS TRUE FROM \(R.self) WHERE rowid IN \(list: changed.sorted())"
    ).rows.contains { row in row[1] == .integer(1) || row[0].text.map(ids.contains) == true }
  }
}

/// Runs a live query: at the start, and again after each change of what it reads.
///
/// @unchecked Sendable: `read`, `tables` and `hasRun` are touched only on the queue of the reader, which is serial.
final class LiveReading<Value: Sendable>: @unchecked Sendable {
  private struct State {
    /// What has changed since the last run; nil for anything.
    var changes: SQLiteChanges?
    var isScheduled = false
    var listener: Int?
    var isStopped = false
  }

  /// Held, as it closes its files when nobody does.
  private let store: any ReadableStore
  private let support: LiveSupport
  private let source: LiveSource<Value>
  private var read: LiveSource<Value>.Read
  private var tables: TextSet = []
  private var hasRun = false
  private let state = Locked(State())
  private let deliver: @Sendable (Result<Value, any Error>) -> Void

  /// - Parameter deliver: gets each value that is new, on the reader's queue, and at last what was thrown.
  init(
    _ source: LiveSource<Value>, of store: any ReadableStore,
    deliver: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    (self.store, support) = (store, store.liveSupport)
    (self.source, read) = (source, source.makeRead())
    self.deliver = deliver
  }

  /// Begins: the first value is read as soon as the reader is free.
  func start() {
    listen()
    schedule(nil)
  }

  /// Begins, and reads the first value here.
  func startNow() -> Result<Value, any Error> {
    listen()
    return Result {
      let first = try support.reader.performNow { try self.run($0, nil) }
      guard let first else { throw StoreError(.closed, "The live query has been read already.") }
      return first
    }
  }

  /// Ends.
  func stop() {
    let listener = state.withLock { state in
      state.isStopped = true
      return state.listener.take()
    }
    if let listener { support.changes.stop(listener) }
  }

  /// From before the first reading on, so that no change is missed between.
  private func listen() {
    support.watchForeignWrites()
    let listener = support.changes.listen(tables: nil) { [weak self] in self?.schedule($0) }
    state.withLock { $0.listener = listener }
  }

  private func schedule(_ changes: SQLiteChanges?) {
    let isFirst = state.withLock { state in
      if state.isStopped { return false }
      if state.isScheduled {
        if let changes { state.changes?.add(changes) } else { state.changes = nil }
        return false
      }
      (state.isScheduled, state.changes) = (true, changes)
      return true
    }
    guard isFirst else { return }
    support.reader.enqueue { [self] access in
      let (changes, isStopped) = state.withLock { state in
        state.isScheduled = false
        return (state.changes, state.isStopped)
      }
      if isStopped { return }
      do {
        if let value = try access.run({ try run($0, changes) }) { deliver(.success(value)) }
      } catch let error as StoreError where error.code == .suspended {
        // The store says when it is resumed.
      } catch {
        stop()
        deliver(.failure(error))
      }
    }
  }

  private func run(_ local: LocalDatabase, _ changes: SQLiteChanges?) throws -> Value? {
    var hasRead = false
    let (result, tables) = try local.readTransaction {
      // It runs again without a file, and what it gave before was not delivered.
      if hasRead { read = source.makeRead() }
      return try local.connection.collectingTables {
        let result = try read(Database(local: local, environment: support.environment), changes)
        hasRead = true
        return result
      }
    }
    if case .spared = result { return nil }
    if tables != self.tables {
      self.tables = tables
      let watched = tables.union(try shadows(of: tables, local))
      if let listener = state.withLock({ $0.listener }) { support.changes.narrow(listener, to: watched) }
      // Commits on a table that was not watched until now may have come since the reading began; at the first time all are watched.
      if hasRun { schedule(nil) }
    }
    hasRun = true
    return result.value
  }

  /// The tables in which virtual tables, such as those of full-text search, keep their content: these change.
  private func shadows(of tables: TextSet, _ local: LocalDatabase) throws -> TextSet {
    let rows = try local.fileNames.map(SQLiteName.quoted).flatMap { file in
      try local.connection.rows(
        """
        SELECT virtual.name, shadow.name FROM \(file).sqlite_schema AS virtual JOIN \(file).sqlite_schema AS shadow
        ON shadow.type = 'table' AND substr(shadow.name, 1, length(virtual.name) + 1) = virtual.name || '_'
        WHERE virtual.type = 'table' AND virtual.rootpage = 0
        """)
    }
    return TextSet(rows.compactMap { row in tables.contains(row[0].text ?? "") ? row[1].text : nil })
  }
}

extension Optional {
  /// The value, of which nothing is left here.
  fileprivate mutating func take() -> Wrapped? {
    defer { self = nil }
    return self
  }
}
