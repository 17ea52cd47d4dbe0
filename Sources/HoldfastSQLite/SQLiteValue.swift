/// One value of SQLite's five storage classes.
///
/// Literals stand for values, so `try connection.run(sql, [1, "milk", nil])` reads as it should. A `real`
/// that is not a number is stored as `null`, as SQLite does. Source: <https://www.sqlite.org/datatype3.html>.
public enum SQLiteValue: Sendable, Hashable {
  /// No value.
  case null
  /// A signed 64-bit integer.
  case integer(Int64)
  /// A 64-bit floating point number.
  case real(Double)
  /// Text, stored as UTF-8; may hold NUL.
  case text(String)
  /// Bytes, kept as they are.
  case blob([UInt8])

  /// Whether both are the same to the byte, as SQLite compares them; `String` takes the two spellings of "é" for equal.
  public static func == (left: SQLiteValue, right: SQLiteValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.integer(let left), .integer(let right)): left == right
    case (.real(let left), .real(let right)): left == right
    case (.text(let left), .text(let right)):
      left.utf8.count == right.utf8.count && left.utf8.elementsEqual(right.utf8)
    case (.blob(let left), .blob(let right)): left == right
    default: false
    }
  }
}

extension SQLiteValue: ExpressibleByNilLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByStringLiteral
{
  /// Makes `null`.
  public init(nilLiteral: ()) { self = .null }
  /// Makes an `integer`.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// Makes a `real`.
  public init(floatLiteral value: Double) { self = .real(value) }
  /// Makes a `text`.
  public init(stringLiteral value: String) { self = .text(value) }
}

extension SQLiteValue {
  /// The storage class of a value.
  public enum Kind: Sendable, Hashable {
    /// No value.
    case null
    /// A signed 64-bit integer.
    case integer
    /// A 64-bit floating point number.
    case real
    /// UTF-8 text.
    case text
    /// Bytes.
    case blob
  }

  /// The storage class of this value.
  public var kind: Kind {
    switch self {
    case .null: .null
    case .integer: .integer
    case .real: .real
    case .text: .text
    case .blob: .blob
    }
  }

  /// The number when this is an `integer`, else nil; nothing is converted.
  public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }

  /// The number when this is a `real`, else nil; nothing is converted.
  public var real: Double? { if case .real(let value) = self { value } else { nil } }

  /// The string when this is a `text`, else nil; nothing is converted.
  public var text: String? { if case .text(let value) = self { value } else { nil } }

  /// The bytes when this is a `blob`, else nil; nothing is converted.
  public var blob: [UInt8]? { if case .blob(let value) = self { value } else { nil } }

  /// Whether this is `null`.
  public var isNull: Bool { self == .null }
}
