/// The value of a column, in the form that both databases keep it. A boolean is the integer 0 or 1.
public enum Value: Hashable, Sendable {
  /// No value.
  case null
  /// An integer or a boolean.
  case integer(Int64)
  /// A finite number.
  case real(Double)
  /// A text; also timestamps, references, positions, and the text of JSON.
  case text(String)

  /// Whether both are the same to the byte, as SQLite compares them. `String` takes the two spellings of "é", one scalar
  /// or two, for equal: an edit from one to the other would be no change.
  public static func == (left: Value, right: Value) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.integer(let left), .integer(let right)): left == right
    case (.real(let left), .real(let right)): left == right
    case (.text(let left), .text(let right)):
      left.utf8.count == right.utf8.count && left.utf8.elementsEqual(right.utf8)
    default: false
    }
  }
}

extension Value {
  /// The value as a literal of SQL.
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
