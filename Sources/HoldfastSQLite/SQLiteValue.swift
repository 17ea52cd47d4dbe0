/// A value of one of SQLite's five storage classes.
///
/// It can be written as a literal: `try connection.run(sql, [1, "milk", nil])`. A `real` that is not a number is stored as `null`, as in
/// SQLite. Source: <https://www.sqlite.org/datatype3.html>.
public enum SQLiteValue: Sendable, Hashable {
  /// No value.
  case null
  /// A signed 64-bit integer.
  case integer(Int64)
  /// A 64-bit floating point number.
  case real(Double)
  /// Text, stored as UTF-8; may hold NUL.
  case text(String)
  /// Bytes, stored unchanged.
  case blob([UInt8])

  /// Whether both have the same bytes, as SQLite compares them. `String` treats the two spellings of "é" as equal.
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
  package var kind: Kind {
    switch self {
    case .null: .null
    case .integer: .integer
    case .real: .real
    case .text: .text
    case .blob: .blob
    }
  }

  /// The number if this is an `integer`, otherwise nil; nothing is converted.
  public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }

  /// The number if this is a `real`, otherwise nil; nothing is converted.
  public var real: Double? { if case .real(let value) = self { value } else { nil } }

  /// The string if this is a `text`, otherwise nil; nothing is converted.
  public var text: String? { if case .text(let value) = self { value } else { nil } }

  /// The bytes if this is a `blob`, otherwise nil; nothing is converted.
  public var blob: [UInt8]? { if case .blob(let value) = self { value } else { nil } }

  /// Whether this is `null`.
  public var isNull: Bool { self == .null }
}
