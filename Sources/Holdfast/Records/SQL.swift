import HoldfastCore
public import HoldfastSQLite

/// A statement of SQL with the values that it binds.
///
/// Write it as a literal. An interpolated value becomes an argument and never a part of the text, so no value changes what the statement does.
/// A value is bound in the form in which a record stores it (docs/RECORDS.md); `nil` is NULL.
/// ```swift
/// let open: SQL = "SELECT * FROM \(Item.self) WHERE list_id = \(list) AND done = \(false)"
/// let some: SQL = "SELECT * FROM items WHERE id IN \(list: ids) ORDER BY \(identifier: column)"
/// let both: SQL = "\(open) LIMIT \(20)"
/// ```
/// A literal that is passed to `fetch`, `first`, `rows`, `execute` or `live` without further arguments is an `SQL`.
public struct SQL: Sendable, Hashable, ExpressibleByStringInterpolation, CustomStringConvertible {
  /// The text, with `?` for the arguments.
  public private(set) var text: String
  /// One for each `?`.
  public private(set) var arguments: [SQLiteValue]
  /// Why a value can't be bound; thrown where the statement is used.
  private var failure: StoreError?

  /// A statement of a text that is sent to SQLite as it is: never put values into it.
  ///
  /// - Parameters:
  ///   - text: the statement.
  ///   - arguments: as many as the text has `?`.
  public init(unsafe text: String, _ arguments: [SQLiteValue] = []) {
    (self.text, self.arguments) = (text, arguments)
  }

  /// A statement without values.
  public init(stringLiteral text: String) { self.init(unsafe: text) }

  /// A statement with values.
  public init(stringInterpolation parts: StringInterpolation) { self = parts.sql }

  /// The text; the arguments, which are data of a user, are left out.
  public var description: String { text }

  /// Whether both are the same to the byte.
  public static func == (left: SQL, right: SQL) -> Bool {
    left.text == right.text && left.arguments == right.arguments && left.failure == right.failure
  }

  /// Hashes the text; statements that differ in their arguments alone are few.
  public func hash(into hasher: inout Hasher) { TextKey(text).hash(into: &hasher) }

  /// This statement, followed by another one.
  public static func + (left: SQL, right: SQL) -> SQL { "\(left)\(right)" }

  /// - Throws: `StoreError.valueUnfit` for a value that can't be bound.
  func checked() throws(StoreError) -> SQL {
    if let failure { throw failure }
    return self
  }

  /// The parts of a literal.
  public struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var sql = SQL(unsafe: "")

    /// Begins a literal.
    public init(literalCapacity: Int, interpolationCount: Int) {}

    /// Adds a part of the literal itself.
    public mutating func appendLiteral(_ text: String) { sql.text += text }

    /// Binds a value: of a plain type, one of Foundation's, an enum of such, or one that is JSON.
    public mutating func appendInterpolation(_ value: some Encodable) {
      do { bind(try ColumnValue.bound(value)) } catch {
        sql.failure = StoreError(.valueUnfit, "A value of the statement can't be bound: \(error)")
      }
    }

    /// Binds a value, or NULL.
    public mutating func appendInterpolation(_ value: (some Encodable)?) {
      if let value { appendInterpolation(value) } else { bind(.null) }
    }

    /// Binds a value of SQLite.
    public mutating func appendInterpolation(_ value: SQLiteValue) { bind(value) }

    /// Adds another statement, or a part of one.
    public mutating func appendInterpolation(_ other: SQL) {
      sql.text += other.text
      sql.arguments += other.arguments
      sql.failure = sql.failure ?? other.failure
    }

    /// Adds the name of a record's table.
    public mutating func appendInterpolation<R: Record>(_ type: R.Type) {
      appendInterpolation(identifier: R.table)
    }

    /// Adds the name of a table or a column in quotes.
    public mutating func appendInterpolation(identifier name: String) {
      sql.text += SQLiteName.quoted(name)
    }

    /// Binds values as a list, for `IN`; one without values matches nothing.
    public mutating func appendInterpolation(list values: some Sequence<some Encodable>) {
      do {
        let list = JSONValue.array(try values.map { try ColumnValue.bound($0).json() })
        sql.text += "(SELECT value FROM json_each(?))"
        sql.arguments.append(.text(String(decoding: list.bytes, as: UTF8.self)))
      } catch {
        sql.failure = StoreError(.valueUnfit, "A value of the list can't be bound: \(error)")
      }
    }

    /// Adds text as it is. It may do anything that SQL can: never put data of a user here.
    public mutating func appendInterpolation(unsafe text: String) { sql.text += text }

    private mutating func bind(_ value: SQLiteValue) {
      sql.text += "?"
      sql.arguments.append(value)
    }
  }
}

extension SQLiteValue {
  /// As an element of an array of JSON.
  fileprivate func json() throws -> JSONValue {
    switch self {
    case .null: .null
    case .integer(let number): .integer(number)
    case .real(let number): try JSONValue(parsing: "\(number)")
    case .text(let text): .string(text)
    case .blob: throw StoreError(.valueUnfit, "A list can't hold bytes.")
    }
  }
}
