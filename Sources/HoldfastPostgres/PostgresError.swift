internal import CPostgres

/// An error reported by PostgreSQL, libpq or this library.
///
/// Decide by `code`, `isConnectionLost` and `isTransient`, never by `message`. `description` is safe for a log: it shows the code, the
/// severity, the constraint's or table's name and the statement's text with `$1` for values. `debugDescription` also shows the server's
/// message and detail, which may quote a stored value. Neither shows a password of a connection string.
public struct PostgresError: Error, Sendable, Hashable {
  /// The operation that failed.
  public enum Action: Sendable, Hashable {
    /// Opening a connection.
    case connecting
    /// Preparing the statement.
    case preparing
    /// Running the statement.
    case running
    /// Copying rows in.
    case copying
    /// Reading the values of its rows.
    case reading
    /// Waiting for notifications.
    case waiting
    /// Borrowing a connection from a pool.
    case borrowing
  }

  /// The SQLSTATE.
  public let code: Code
  /// The operation that failed.
  public let action: Action
  /// The server's severity in English, such as `ERROR` or `FATAL`; nil if the error is not the server's.
  public let severity: String?
  /// The first line of the server's or libpq's message. It may quote a stored or sent value.
  public let message: String
  /// The server's detail line, which often quotes values; nil if there is none.
  public let detail: String?
  /// The functions and triggers of the database in which the error occurred, as `PL/pgSQL function ours() line 3 at RAISE`; nil if none. It
  /// may quote values.
  public let context: String?
  /// The text of the failed statement, with its placeholders; nil if there was none.
  public let statement: String?
  /// The schema of the table, if the server named it.
  public let schema: String?
  /// The table, if the server named it.
  public let table: String?
  /// The column, if the server named it.
  public let column: String?
  /// The constraint, if the server named it.
  public let constraint: String?
  /// Whether the connection is unusable. It is then unknown whether the statement took effect.
  public let isConnectionLost: Bool
  /// Whether the server interrupted the statement itself: somebody cancelled it, or it ran longer than `statement_timeout`. A function that
  /// raises the code `.queryCanceled` is no interruption.
  public let isInterruption: Bool

  /// Whether `message` refers only to hosts, roles or the call.
  private let messageIsPublic: Bool
  /// Whether `statement` contains no values.
  private let statementIsPublic: Bool

  /// Whether a retry of the transaction may succeed immediately: class 40, such as `serializationFailure` and `deadlockDetected`, and
  /// `lockNotAvailable`.
  public var isTransient: Bool { code.classCode == "40" || code == .lockNotAvailable }

  /// Creates an error that this library detected, or one of those that are built on it, with a message without values.
  package init(_ code: Code, _ message: String, while action: Action, statement: String? = nil) {
    self.code = code
    self.action = action
    self.message = message
    self.statement = statement
    (severity, detail, context, schema) = (nil, nil, nil, nil)
    (table, column, constraint) = (nil, nil, nil)
    isConnectionLost = code == .connectionLost
    isInterruption = false
    messageIsPublic = true
    statementIsPublic = true
  }

  /// The error of a result, or of the connection if there is no result.
  ///
  /// - Parameter statementIsPublic: whether the text has placeholders instead of values.
  init(
    _ result: OpaquePointer?, of connection: OpaquePointer, while action: Action, statement: String?,
    statementIsPublic: Bool = true
  ) {
    func field(_ name: Int32) -> String? {
      result.flatMap { PQresultErrorField($0, name) }.map { String(cString: $0) }
    }
    let isBroken = PQstatus(connection) != CONNECTION_OK
    let state = field(holdfast_pg_state)
    code = state.map(Code.init(rawValue:)) ?? (isBroken ? .connectionLost : .internalError)
    self.action = action
    severity = field(holdfast_pg_severity)
    let words = field(holdfast_pg_message)
    message = words ?? Self.words(of: connection)
    detail = field(holdfast_pg_detail)
    context = field(holdfast_pg_context)
    self.statement = statement
    schema = field(holdfast_pg_schema)
    table = field(holdfast_pg_table)
    column = field(holdfast_pg_column)
    constraint = field(holdfast_pg_constraint)
    // The server closes the connection after a fatal error, which may be read before its end.
    isConnectionLost = isBroken || code.isConnection || severity == "FATAL" || severity == "PANIC"
    isInterruption = code == .queryCanceled && field(holdfast_pg_function) == "ProcessInterrupts"
    messageIsPublic = state == nil
    self.statementIsPublic = statementIsPublic
  }

  /// libpq's message for the last failure of a connection, without the line end.
  static func words(of connection: OpaquePointer) -> String {
    guard let text = PQerrorMessage(connection) else { return "" }
    var bytes = UnsafeBufferPointer(start: text, count: String(cString: text).utf8.count)[...]
    while bytes.last == 10 { bytes.removeLast() }
    return String(decoding: bytes.lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

extension PostgresError: CustomStringConvertible, CustomDebugStringConvertible {
  /// The code and its object, without any stored or sent value.
  public var description: String { text(inFull: false) }

  /// All details, possibly with personal data.
  public var debugDescription: String { text(inFull: true) }

  private func text(inFull: Bool) -> String {
    var text = "PostgreSQL: \(code)"
    if let severity { text += " \(severity)" }
    text += " while \(action)"
    if let constraint, !constraint.isEmpty { text += ", constraint \(constraint)" }
    if let table { text += ", table \(table)" }
    if let column { text += ", column \(column)" }
    if inFull || messageIsPublic { text += ": \(message)" }
    if inFull, let detail { text += " (\(detail))" }
    if inFull, let context { text += " at \(context)" }
    if let statement, inFull || statementIsPublic { text += " in: \(statement)" }
    return text
  }
}
