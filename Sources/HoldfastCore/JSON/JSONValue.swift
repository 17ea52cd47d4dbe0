/// A JSON value as a tree, for code where speed does not matter: schema files, problem documents, printed output.
///
/// Objects are equal if they have the same members in the same order.
public enum JSONValue: Hashable, Sendable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A number written without fraction and exponent that fits into 64 bits.
  case integer(Int64)
  /// Any other number, as the nearest double.
  case real(Double)
  /// A string.
  case string(String)
  /// An array.
  case array([JSONValue])
  /// An object, its members in the order of the text.
  case object([Member])

  /// A member of an object.
  public struct Member: Hashable, Sendable {
    /// The key.
    public var name: String
    /// The member's value.
    public var value: JSONValue

    /// Creates a member.
    public init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// The value's kind.
  package var kind: JSONKind {
    switch self {
    case .null: .null
    case .bool: .bool
    case .integer, .real: .number
    case .string: .string
    case .array: .array
    case .object: .object
    }
  }

  /// The members of an object; nil for another kind.
  public var members: [Member]? {
    if case .object(let members) = self { members } else { nil }
  }

  /// The elements of an array; nil for another kind.
  public var elements: [JSONValue]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  /// The string; nil for another kind.
  public var stringValue: String? {
    if case .string(let value) = self { value } else { nil }
  }

  /// The integer; nil for another kind, and for a real.
  public var integerValue: Int64? {
    if case .integer(let value) = self { value } else { nil }
  }

  /// The Boolean; nil for another kind.
  public var boolValue: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  /// The value of a member, found by a linear search; nil if it is absent or this is no object.
  public subscript(name: String) -> JSONValue? {
    members?.first { $0.name == name }?.value
  }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral
{
  /// `null`.
  public init(nilLiteral: ()) { self = .null }
  /// `true` or `false`.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// An integer.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// A real.
  public init(floatLiteral value: Double) { self = .real(value) }
  /// A string.
  public init(stringLiteral value: String) { self = .string(value) }
  /// An array.
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  /// An object, in the order written.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(elements.map { Member($0.0, $0.1) })
  }
}
