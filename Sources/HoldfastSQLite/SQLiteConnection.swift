internal import CSQLite
import HoldfastCore
package import HoldfastSystem

/// One connection to an SQLite database.
///
/// Use it from one thread at a time: it is opened without SQLite's own locks and is not `Sendable`, so an
/// actor, a lock or a thread must own it. Only its `interrupter` may be used from elsewhere. Using a
/// closed connection is a programmer's error and traps.
public final class SQLiteConnection {
  /// The permitted access to the file.
  package enum Access: Sendable, Hashable {
    /// Read and write; create a missing file.
    case readWriteCreate
    /// Read and write an existing file.
    case readWrite
    /// Read an existing file.
    case readOnly
  }

  private var handle: OpaquePointer?
  private var statements: [StatementText: Statement] = [:]
  let observation = Observation()
  /// The files of the write-ahead log at the first call of `checkPlace`.
  var logIdentity: [FileIdentity?] = []
  /// The same of attached databases, by their names.
  var attachedLogs: TextMap<[FileIdentity?]> = [:]
  /// The index of the write-ahead log in shared memory, once it was asked for; mapped for as long as the connection is open.
  var logIndex: UnsafeRawPointer?

  /// An object that is needed until the file is closed.
  package var companion: (any Sendable)?

  /// Interrupts this connection's statements from any thread.
  package let interrupter: Interrupter

  /// The maximum number of cached statements. Beyond it the cache is cleared, because only generated SQL has so many texts.
  private static let cacheLimit = 256

  /// Opens a database.
  ///
  /// SQLite reads nothing yet: a file that is not a database shows at the first statement, as
  /// `.notADatabase`.
  /// - Parameters:
  ///   - path: the file, or `:memory:` for a private database that goes with the connection. `memory:/NAME` is a database in memory too, which
  ///     all connections of the process that give the same name share; it goes with the last of them.
  ///   - access: what may be done; read, write and create unless given.
  ///   - busyTimeout: how long a statement waits for another connection's lock before it throws `.busy`; to
  ///     the millisecond, from 0 to 24 days; 5 seconds unless given.
  /// - Throws: `.cantOpen` when the file is missing or out of reach, `.outOfMemory`.
  package init(
    path: String, access: Access = .readWriteCreate, busyTimeout: Duration = .seconds(5)
  ) throws(SQLiteError) {
    let mode =
      switch access {
      case .readWriteCreate: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      case .readWrite: SQLITE_OPEN_READWRITE
      case .readOnly: SQLITE_OPEN_READONLY
      }
    var opened: OpaquePointer?
    // SQLite's VFS in memory shares what begins with a slash. Source: <https://www.sqlite.org/src/file/src/memdb.c>.
    let isShared = path.hasPrefix("memory:/")
    let result = sqlite3_open_v2(
      isShared ? String(path.dropFirst("memory:".count)) : path, &opened, mode | SQLITE_OPEN_NOMUTEX,
      isShared ? "memdb" : nil)
    guard result == SQLITE_OK, let opened else {
      let code = opened.map { sqlite3_extended_errcode($0) } ?? result
      let error = SQLiteError(code, of: opened, statement: nil, while: .opening)
      sqlite3_close_v2(opened)
      throw error
    }
    handle = opened
    interrupter = Interrupter(opened)
    sqlite3_extended_result_codes(opened, 1)
    sqlite3_busy_timeout(opened, Int32(clamping: max(busyTimeout.wholeMilliseconds, 0)))
    observation.attach(to: opened)
  }

  deinit { close() }

  /// Closes the connection and its cached statements. An open transaction is rolled back. Statements that a caller still holds fail when
  /// stepped, and keep the file open until they are released. A second call does nothing.
  package func close() {
    guard let handle else { return }
    // The last connection to close writes the log into the file, and removes the file of that name: by now both may be another program's. A log that
    // only this connection has is written all the same, as nobody else can.
    if !logIdentity.isEmpty, !isLogGone, (try? checkPlace()) == nil { _ = holdfast_keep_log_at_close(handle) }
    self.handle = nil
    logIndex = nil
    interrupter.retire()
    observation.detach(from: handle)
    statements.removeAll()
    // Otherwise SQLite would keep the transaction and its locks until all statements are released.
    if sqlite3_get_autocommit(handle) == 0 { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
    sqlite3_close_v2(handle)
  }

  /// SQLite's handle of the open connection.
  package var database: OpaquePointer {
    guard let handle else { preconditionFailure("This SQLite connection has been closed.") }
    return handle
  }

  /// From now on reports the statements of this connection that take too long.
  package func report(_ slow: SlowStatements?) { observation.slow = slow }

  /// The prepared statement of a text, cached.
  ///
  /// A running statement is never returned twice: a request for the same text meanwhile prepares a new one. So bind and step before you
  /// request the same text again, and reset a statement that you leave early. Bindings of an earlier use are still present. On the hottest
  /// paths keep the statement in a property.
  /// - Parameter sql: exactly one statement; pass values as parameters, not in the text.
  /// - Throws: `.error` if the SQL is wrong, `.misuse` unless it is one statement, `.notADatabase`, `.busy` and others if the schema can't
  ///   be read.
  package func statement(_ sql: String) throws(SQLiteError) -> Statement {
    let text = StatementText(sql)
    let known = statements[text]
    if let known, !known.isRunning { return known }
    let prepared = try prepare(sql)
    if known == nil {
      if statements.count >= Self.cacheLimit { statements.removeAll(keepingCapacity: true) }
      statements[text] = prepared
    }
    return prepared
  }

  /// Runs one or several statements, skipping any rows.
  ///
  /// - Parameter sql: statements separated by semicolons. Statements before a failing one take effect.
  /// - Throws: `SQLiteError`, any code, of the first statement that fails; the rest are not run.
  public func execute(_ sql: String) throws(SQLiteError) {
    try sql.withCString { text -> Result<Void, SQLiteError> in
      do throws(SQLiteError) {
        var rest: UnsafePointer<CChar>? = text
        while let start = rest, start.pointee != 0 { try prepare(start, &rest, persistent: false)?.run() }
        return .success(())
      } catch {
        return .failure(error)
      }
    }.get()
  }

  /// Prepares a text that must be one statement.
  private func prepare(_ sql: String) throws(SQLiteError) -> Statement {
    try sql.withCString { text -> Result<Statement, SQLiteError> in
      do throws(SQLiteError) {
        var rest: UnsafePointer<CChar>?
        guard let statement = try prepare(text, &rest, persistent: true) else {
          throw SQLiteError(.misuse, "There is no statement in this text.", statement: sql)
        }
        // Comments and semicolons may follow; they prepare to nothing.
        while let start = rest, start.pointee != 0 {
          if try prepare(start, &rest, persistent: false) != nil {
            throw SQLiteError(.misuse, "There is more than one statement in this text.", statement: sql)
          }
        }
        return .success(statement)
      } catch {
        return .failure(error)
      }
    }.get()
  }

  /// Prepares the first statement at `text`, and advances `rest` past it; nil if there is only space or a comment.
  private func prepare(
    _ text: UnsafePointer<CChar>, _ rest: inout UnsafePointer<CChar>?, persistent: Bool
  ) throws(SQLiteError) -> Statement? {
    let database = database
    var prepared: OpaquePointer?
    var tail: UnsafePointer<CChar>?
    let flags = persistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
    let outcome = observation.collect { sqlite3_prepare_v3(database, text, -1, flags, &prepared, &tail) }
    guard outcome.result == SQLITE_OK else {
      throw SQLiteError(outcome.result, of: database, statement: String(cString: text), while: .preparing)
    }
    rest = tail
    return prepared.map {
      Statement($0, of: database, observation, read: outcome.read, written: outcome.written)
    }
  }
}

extension SQLiteConnection {
  /// A runtime limit of one connection. Source: <https://www.sqlite.org/c3ref/limit.html>.
  package struct Limit: Sendable, Hashable {
    fileprivate let number: Int32

    /// The maximum size of a text, blob or row in bytes.
    package static let valueLength = Limit(number: SQLITE_LIMIT_LENGTH)
    /// The maximum length of a statement in bytes.
    package static let statementLength = Limit(number: SQLITE_LIMIT_SQL_LENGTH)
    /// The maximum number of columns of a table, index or result.
    package static let columns = Limit(number: SQLITE_LIMIT_COLUMN)
    /// The maximum parameter number.
    package static let parameters = Limit(number: SQLITE_LIMIT_VARIABLE_NUMBER)
    /// The maximum depth of an expression.
    package static let expressionDepth = Limit(number: SQLITE_LIMIT_EXPR_DEPTH)
    /// The maximum recursion depth of triggers.
    package static let triggerDepth = Limit(number: SQLITE_LIMIT_TRIGGER_DEPTH)
    /// The maximum number of attached databases.
    package static let attached = Limit(number: SQLITE_LIMIT_ATTACHED)
  }

  /// The current limit.
  package func limit(_ limit: Limit) -> Int { Int(sqlite3_limit(database, limit.number, -1)) }

  /// Sets a bound; one above what SQLite was built for is brought down to that.
  ///
  /// - Parameters:
  ///   - limit: which bound.
  ///   - value: the new bound, 0 or more.
  package func setLimit(_ limit: Limit, to value: Int) {
    sqlite3_limit(database, limit.number, Int32(clamping: max(value, 0)))
  }
}

extension SQLiteConnection {
  /// Runs `body`. Its statements fail with `.interrupt` soon after `isOver` returns true.
  ///
  /// `isOver` is called about once per millisecond of work, on this thread. Source: <https://www.sqlite.org/c3ref/progress_handler.html>.
  package func run<Result>(
    until isOver: () -> Bool, _ body: () throws -> Result
  ) rethrows -> Result {
    try withoutActuallyEscaping(isOver) { isOver in
      let question = Question(isOver)
      sqlite3_progress_handler(
        database, 20_000, { context in askQuestion(context) }, Unmanaged.passUnretained(question).toOpaque())
      defer {
        sqlite3_progress_handler(database, 0, nil, nil)
        question.isOver = { false }
      }
      return try withExtendedLifetime(question) { try body() }
    }
  }
}

/// The text of a statement as a key, compared by bytes. It is hashed eight bytes at a time: texts of statements are long, and those of strangers are none.
private struct StatementText: Hashable {
  private let sum: UInt64
  private let text: String

  init(_ text: String) {
    var text = text
    sum = text.withUTF8 { bytes in
      let bytes = UnsafeRawBufferPointer(bytes)
      var sum = UInt64(bytes.count)
      var place = 0
      while place + 8 <= bytes.count {
        sum = (sum ^ bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)) &* 0x9e37_79b9_7f4a_7c15
        sum ^= sum >> 32
        place += 8
      }
      for byte in bytes[place...] { sum = (sum ^ UInt64(byte)) &* 0x9e37_79b9_7f4a_7c15 }
      return sum
    }
    self.text = text
  }

  func hash(into hasher: inout Hasher) { hasher.combine(sum) }
}

/// The context of the progress handler.
private final class Question {
  var isOver: () -> Bool

  init(_ isOver: @escaping () -> Bool) { self.isOver = isOver }
}

private func askQuestion(_ context: UnsafeMutableRawPointer?) -> Int32 {
  guard let context else { return 0 }
  return Unmanaged<Question>.fromOpaque(context).takeUnretainedValue().isOver() ? 1 : 0
}

/// Checkpoints of the write-ahead log at times that the caller chooses.
///
/// Source: <https://www.sqlite.org/c3ref/wal_hook.html>, <https://www.sqlite.org/wal.html#ckpt>.
extension SQLiteConnection {
  /// Disables automatic checkpoints on this connection. The caller runs `checkpoint()` instead.
  package func deferCheckpoints() {
    let context = Unmanaged.passUnretained(observation).toOpaque()
    sqlite3_wal_hook(
      database,
      { context, _, _, pages in
        if let context {
          Unmanaged<Observation>.fromOpaque(context).takeUnretainedValue().pagesInLog = Int(pages)
        }
        return SQLITE_OK
      }, context)
  }

  /// The number of pages in the write-ahead log after the last commit of this connection, if checkpoints are deferred.
  package var pagesInLog: Int { observation.pagesInLog }

  /// Checkpoints as many pages as possible without waiting. It does not change the durability of the data.
  ///
  /// - Throws: `.busy` if another connection is checkpointing, `.ioError`, `.full`.
  package func checkpoint() throws(SQLiteError) {
    let result = sqlite3_wal_checkpoint_v2(database, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
    observation.pagesInLog = 0
    if result != SQLITE_OK { throw SQLiteError(result, of: database, statement: nil, while: .running) }
  }

  /// Syncs the write-ahead log to disk after opening. A process killed in its commit can leave a complete log that readers see, but that a
  /// power failure may lose.
  ///
  /// - Throws: `.ioError`.
  package func makeLogDurable() throws(SQLiteError) {
    do { try checkpoint() } catch {
      // A checkpoint syncs the log before it moves pages. If another connection is checkpointing, that one has synced it.
      if error.code.primary != .full, error.code.primary != .busy { throw error }
    }
  }
}

extension SQLiteConnection {
  /// From now on `julianday('now')` on this connection says what a clock does, in place of the system's; every other text means what it does
  /// elsewhere. Source: <https://www.sqlite.org/c3ref/create_function.html>.
  ///
  /// - Parameter now: milliseconds since 1970; called on the connection's thread.
  /// - Throws: `SQLiteError` when SQLite has no memory for it.
  package func setClock(_ now: @escaping @Sendable () -> Int64) throws(SQLiteError) {
    let clock = Unmanaged.passRetained(SQLClock(now))
    // SQLite lets go of the clock in any case.
    let result = sqlite3_create_function_v2(
      database, "julianday", 1, SQLITE_UTF8, clock.toOpaque(), { julianDay($0, $1, $2) }, nil, nil,
      { context in if let context { Unmanaged<SQLClock>.fromOpaque(context).release() } })
    guard result == SQLITE_OK else {
      throw SQLiteError(result, of: database, statement: nil, while: .opening)
    }
    // A statement that was prepared before has SQLite's own function: an authorizer that is set has all of them prepared again.
    observation.attach(to: database)
  }
}
