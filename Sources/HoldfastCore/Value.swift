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
}
