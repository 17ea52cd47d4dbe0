/// The six kinds of JSON values.
///
/// Source: RFC 8259 section 3.
package enum JSONKind: Hashable, Sendable {
  /// Members between braces.
  case object
  /// Elements between brackets.
  case array
  /// Text between quotes.
  case string
  /// A number, whole or not.
  case number
  /// `true` or `false`.
  case bool
  /// `null`.
  case null

  /// The kind of a value that begins with `byte`; nil if no value begins with it.
  init?(firstByte byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""): self = .string
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): self = .number
    case UInt8(ascii: "{"): self = .object
    case UInt8(ascii: "["): self = .array
    case UInt8(ascii: "t"), UInt8(ascii: "f"): self = .bool
    case UInt8(ascii: "n"): self = .null
    default: return nil
    }
  }

  var noun: String {
    switch self {
    case .object: "an object"
    case .array: "an array"
    case .string: "a string"
    case .number: "a number"
    case .bool: "true or false"
    case .null: "null"
    }
  }
}
