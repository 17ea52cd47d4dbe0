internal import CSQLite
internal import HoldfastSystem

/// An error reported by SQLite.
///
/// Decide by `code`, never by `message`. `description` is safe for a log: it shows the code, the statement's text (with `?` for bound
/// values), and SQLite's message only if it can't quote a value. `debugDescription` always shows the message.
public struct SQLiteError: Error, Sendable, Hashable {
  /// SQLite's extended result code.
  public let code: Code

  /// SQLite's message in English. It may quote a stored or bound value, such as a malformed search term.
  public let message: String

  /// The text of the failed statement, with its placeholders; nil if there was none (opening, backup).
  public let statement: String?

  /// Whether `message` refers only to the statement's text or the schema.
  private let messageIsPublic: Bool

  /// The operation that failed.
  enum Moment { case opening, preparing, running }

  /// Creates an error without a connection, for misuse that this module detects itself.
  package init(_ code: Code, _ message: String, statement: String?) {
    self.code = code
    self.message = message
    self.statement = statement
    messageIsPublic = true
  }

  /// The error that `database` has just reported with `result`. Call it before any other call on `database`.
  init(_ result: Int32, of database: OpaquePointer?, statement: String?, while moment: Moment) {
    let code = Code(rawValue: result)
    message = sqlite3_errmsg(database).map { String(cString: $0) } ?? code.description
    // SQLite says SQLITE_FULL only where it writes content, and another error where it makes a file or extends the index of the WAL.
    let mayBeFull = [.ioError, .cantOpen].contains(code.primary)
    self.code = mayBeFull && saysDiskIsFull(sqlite3_system_errno(database)) ? .full : code
    self.statement = statement
    // The triggers of a device's file refuse with texts of the schema's names alone.
    let isOwnRefusal = code == .constraintTrigger && message.utf8.starts(with: "holdfast: ".utf8)
    messageIsPublic = moment != .running || code.namesOnlySchema || isOwnRefusal
  }
}

extension SQLiteError: CustomStringConvertible, CustomDebugStringConvertible {
  /// The code and the statement, without any bound or stored value.
  public var description: String { text(withMessage: messageIsPublic) }

  /// All details, possibly with personal data.
  public var debugDescription: String { text(withMessage: true) }

  private func text(withMessage: Bool) -> String {
    var text = "SQLite: \(code)"
    if withMessage { text += ": \(message)" }
    if let statement { text += " in: \(statement)" }
    return text
  }
}
