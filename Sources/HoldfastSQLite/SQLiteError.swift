internal import CSQLite

/// A failure that SQLite reported.
///
/// Decide by `code`, never by `message`. `description` can go to a log: it shows the code, the statement's
/// text (in which bound values appear as `?`) and SQLite's message only where that can't quote a value.
/// `debugDescription` always shows the message.
public struct SQLiteError: Error, Sendable, Hashable {
  /// What went wrong, by SQLite's extended result code.
  public let code: Code

  /// SQLite's own words, in English. They may quote a stored or bound value: a malformed search term, for
  /// one.
  public let message: String

  /// The text of the statement that failed, with its placeholders; nil when there was none (opening, backing
  /// up).
  public let statement: String?

  /// Whether `message` speaks of the statement's text or the schema alone.
  private let messageIsPublic: Bool

  /// What was being done.
  enum Moment { case opening, preparing, running }

  /// Makes an error from its parts, without a connection's help: for misuse that this module finds itself.
  package init(_ code: Code, _ message: String, statement: String?) {
    self.code = code
    self.message = message
    self.statement = statement
    messageIsPublic = true
  }

  /// Reads the error that `database` has just reported with `result`. Call before any other call on
  /// `database`.
  init(_ result: Int32, of database: OpaquePointer?, statement: String?, while moment: Moment) {
    code = Code(rawValue: result)
    message = sqlite3_errmsg(database).map { String(cString: $0) } ?? code.description
    self.statement = statement
    messageIsPublic = moment != .running || code.namesOnlySchema
  }
}

extension SQLiteError: CustomStringConvertible, CustomDebugStringConvertible {
  /// The code and the statement, without any bound or stored value.
  public var description: String { text(withMessage: messageIsPublic) }

  /// Everything known, which may include a person's data.
  public var debugDescription: String { text(withMessage: true) }

  private func text(withMessage: Bool) -> String {
    var text = "SQLite: \(code)"
    if withMessage { text += ": \(message)" }
    if let statement { text += " in: \(statement)" }
    return text
  }
}
