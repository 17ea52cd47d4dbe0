internal import CSQLite
import HoldfastCore

/// One connection to an SQLite database.
///
/// Use it from one thread at a time: it is opened without SQLite's own locks and is not `Sendable`, so an
/// actor, a `Mutex` or a thread must own it. Only its `interrupter` may be used from elsewhere. Using a
/// closed connection is a programmer's error and traps.
public final class SQLiteConnection {
  /// What a connection may do with its file.
  public enum Access: Sendable, Hashable {
    /// Read and write, and make the file when there is none.
    case readWriteCreate
    /// Read and write a file that exists.
    case readWrite
    /// Read a file that exists.
    case readOnly
  }

  private var handle: OpaquePointer?
  private var statements: TextMap<Statement> = [:]
  let observation = Observation()
  /// The files of the write-ahead log, as `checkPlace` found them first.
  var logIdentity: [FileIdentity?] = []

  /// Stops this connection's statements from any thread.
  public let interrupter: Interrupter

  /// How many statements are kept prepared; past it all are dropped, since only made-up texts come that far.
  private static let cacheLimit = 256

  /// Opens a database.
  ///
  /// SQLite reads nothing yet: a file that is not a database shows at the first statement, as
  /// `.notADatabase`.
  /// - Parameters:
  ///   - path: the file, or `:memory:` for a private database that goes with the connection.
  ///   - access: what may be done; read, write and create unless given.
  ///   - busyTimeout: how long a statement waits for another connection's lock before it throws `.busy`; to
  ///     the millisecond, from 0 to 24 days; 5 seconds unless given.
  /// - Throws: `.cantOpen` when the file is missing or out of reach, `.outOfMemory`.
  public init(
    path: String, access: Access = .readWriteCreate, busyTimeout: Duration = .seconds(5)
  ) throws(SQLiteError) {
    let mode =
      switch access {
      case .readWriteCreate: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      case .readWrite: SQLITE_OPEN_READWRITE
      case .readOnly: SQLITE_OPEN_READONLY
      }
    var opened: OpaquePointer?
    let result = sqlite3_open_v2(path, &opened, mode | SQLITE_OPEN_NOMUTEX, nil)
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

  /// Closes the connection and drops its cached statements; a transaction still open is rolled back.
  /// Statements that a caller still holds fail when stepped, and keep the file open until they go. Closing
  /// twice does nothing.
  public func close() {
    guard let handle else { return }
    self.handle = nil
    interrupter.retire()
    observation.detach(from: handle)
    statements.removeAll()
    // With statements still held, SQLite would keep the transaction, and its locks, until they go.
    if sqlite3_get_autocommit(handle) == 0 { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
    sqlite3_close_v2(handle)
  }

  /// SQLite's handle of the open connection.
  var database: OpaquePointer {
    guard let handle else { preconditionFailure("This SQLite connection has been closed.") }
    return handle
  }

  /// Gives the prepared statement of a text, from the cache when it was asked for before.
  ///
  /// A statement that is still running is never handed out twice: whoever asks for the same text meanwhile
  /// gets a fresh one. So bind and step before you ask for the same text again, and reset what you leave
  /// early. Bindings of an earlier use are still there. Keep the statement in a property on the hottest
  /// paths; the look-up hashes the text.
  /// - Parameter sql: exactly one statement; values belong in its parameters, not in the text.
  /// - Throws: `.error` when the SQL is wrong, `.misuse` unless it is one statement, `.notADatabase`, `.busy`
  ///   and others when the schema can't be read.
  public func statement(_ sql: String) throws(SQLiteError) -> Statement {
    if let known = statements[sql], !known.isRunning { return known }
    let prepared = try prepare(sql)
    if statements[sql] == nil {
      if statements.count >= Self.cacheLimit { statements.removeAll(keepingCapacity: true) }
      statements[sql] = prepared
    }
    return prepared
  }

  /// Runs one or many statements, passing over any rows.
  ///
  /// - Parameter sql: statements separated by semicolons. The statements before a failing one have had their
  ///   effect.
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

  /// Prepares the first statement at `text` and moves `rest` past it; nil when there is only space or a
  /// comment.
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
    return prepared.map { Statement($0, of: database, observation, written: outcome.written) }
  }
}
