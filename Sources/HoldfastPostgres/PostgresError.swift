internal import CPostgres

/// A failure that PostgreSQL, libpq or this library reported.
///
/// Decide by `code`, `isConnectionLost` and `isTransient`, never by `message`. `description` can go to a log: it
/// shows the code, the severity, the constraint's or table's name and the statement's text, in which values appear
/// as `$1`. `debugDescription` shows the server's message and detail too, which may quote a stored value. Neither
/// ever shows a password of a connection string.
public struct PostgresError: Error, Sendable, Hashable {
  /// What was being done.
  public enum Action: Sendable, Hashable {
    /// Making a connection.
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

  /// What went wrong.
  public let code: Code
  /// What was being done.
  public let action: Action
  /// The server's severity in English, as `ERROR` or `FATAL`; nil when no server spoke.
  public let severity: String?
  /// The first line of the server's or libpq's own words. They may quote a stored or sent value.
  public let message: String
  /// The server's second line, which often quotes values; nil when there was none.
  public let detail: String?
  /// In which functions and triggers of the database it happened, as `PL/pgSQL function ours() line 3 at RAISE`; nil when in none. It may quote
  /// values.
  public let context: String?
  /// The text of the statement that failed, with its placeholders; nil when there was none.
  public let statement: String?
  /// The schema of the table, when the server named it.
  public let schema: String?
  /// The table, when the server named it.
  public let table: String?
  /// The column, when the server named it.
  public let column: String?
  /// The constraint, when the server named it. With Citus it is empty: decide by `code`.
  public let constraint: String?
  /// Whether the connection is of no more use; whether the statement had its effect is then unknown.
  public let isConnectionLost: Bool

  /// Whether `message` speaks of hosts, roles or the call alone.
  private let messageIsPublic: Bool
  /// Whether `statement` has no values in it.
  private let statementIsPublic: Bool

  /// Whether the same transaction, run again, may succeed at once: class 40, as `serializationFailure` and `deadlockDetected`, and
  /// `lockNotAvailable`.
  public var isTransient: Bool { code.classCode == "40" || code == .lockNotAvailable }

  /// Makes an error that this library found itself, in words without any value.
  init(_ code: Code, _ message: String, while action: Action, statement: String? = nil) {
    self.code = code
    self.action = action
    self.message = message
    self.statement = statement
    (severity, detail, context, schema) = (nil, nil, nil, nil)
    (table, column, constraint) = (nil, nil, nil)
    isConnectionLost = code == .connectionLost
    messageIsPublic = true
    statementIsPublic = true
  }

  /// Reads the error of a result, or of the connection when there is no result.
  ///
  /// - Parameter statementIsPublic: whether the text is one with placeholders instead of values.
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
    isConnectionLost = isBroken || code.isConnection || code.endsConnection
    messageIsPublic = state == nil
    self.statementIsPublic = statementIsPublic
  }

  /// libpq's words about the last failure of a connection, without the line's end.
  static func words(of connection: OpaquePointer) -> String {
    guard let text = PQerrorMessage(connection) else { return "" }
    var bytes = UnsafeBufferPointer(start: text, count: String(cString: text).utf8.count)[...]
    while bytes.last == 10 { bytes.removeLast() }
    return String(decoding: bytes.lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

extension PostgresError.Code {
  /// Whether the server closes the connection after it.
  fileprivate var endsConnection: Bool {
    self == .adminShutdown || self == .crashShutdown || self == .cannotConnectNow || rawValue == "57P04"
      || rawValue == "57P05"
  }
}

extension PostgresError: CustomStringConvertible, CustomDebugStringConvertible {
  /// The code and what it concerns, without any stored or sent value.
  public var description: String { text(inFull: false) }

  /// Everything known, which may include a person's data.
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
