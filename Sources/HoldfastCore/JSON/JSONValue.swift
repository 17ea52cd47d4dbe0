/// A JSON value as a tree, for the places where speed doesn't matter: schema files, problem documents, printed output.
///
/// The sync path uses ``JSONReader`` and ``JSONWriter`` instead. Two objects are equal when their members are the same in the
/// same order.
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

  /// One name and value of an object.
  public struct Member: Hashable, Sendable {
    /// The key.
    public var name: String
    /// What stands under it.
    public var value: JSONValue

    /// Makes a member.
    public init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// The value's kind.
  public var kind: JSONKind {
    switch self {
    case .null: .null
    case .bool: .bool
    case .integer, .real: .number
    case .string: .string
    case .array: .array
    case .object: .object
    }
  }

  /// The members of an object, or nil for another kind.
  public var members: [Member]? {
    if case .object(let members) = self { members } else { nil }
  }

  /// The elements of an array, or nil for another kind.
  public var elements: [JSONValue]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  /// The string, or nil for another kind.
  public var stringValue: String? {
    if case .string(let value) = self { value } else { nil }
  }

  /// The integer, or nil for another kind and for a number that isn't one.
  public var integerValue: Int64? {
    if case .integer(let value) = self { value } else { nil }
  }

  /// The truth value, or nil for another kind.
  public var boolValue: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  /// The value under a name of an object, found by looking at each; nil when it isn't there or this is no object.
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
