/// The value of a column, in the form that both databases store. A boolean is the integer 0 or 1.
public enum Value: Hashable, Sendable {
  /// No value.
  case null
  /// An integer or a boolean.
  case integer(Int64)
  /// A finite number.
  case real(Double)
  /// A text, timestamp, reference or position, or the text of a JSON value.
  case text(String)

  /// Whether both have the same bytes, as SQLite compares them. `String` treats "é" as one scalar and as two as equal, so an edit between
  /// them would seem to change nothing.
  public static func == (left: Value, right: Value) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.integer(let left), .integer(let right)): left == right
    case (.real(let left), .real(let right)): left == right
    case (.text(let left), .text(let right)): left == right
    default: false
    }
  }
}

extension Value {
  /// The value as an SQL literal.
  package var literal: String {
    switch self {
    case .null: "NULL"
    case .integer(let number): String(number)
    case .real(let number): String(number)
    case .text(let text):
      "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
    }
  }
}
