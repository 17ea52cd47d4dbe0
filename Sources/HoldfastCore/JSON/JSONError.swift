/// Why a JSON text was refused, and where.
///
/// The description names the fault and the byte, never the text itself, so that it can go into a log.
/// Source: RFC 8259.
public struct JSONError: Error, Hashable, Sendable {
  /// The kind of fault. Compare it with the constants; new ones may be added.
  public struct Code: Hashable, Sendable {
    enum Fault: Hashable, Sendable {
      case emptyInput, byteOrderMark, unexpectedEnd, unexpectedByte, typeMismatch, invalidNumber
      case notAnInteger, numberOutOfRange, controlCharacter, invalidEscape, loneSurrogate
      case invalidUTF8, duplicateKey, tooDeep, trailingBytes, abandoned
    }
    let fault: Fault

    /// The input has no bytes, or only white space.
    public static let emptyInput = Self(fault: .emptyInput)
    /// The input begins with a byte order mark, which RFC 8259 section 8.1 forbids to send.
    public static let byteOrderMark = Self(fault: .byteOrderMark)
    /// The input ends inside a value.
    public static let unexpectedEnd = Self(fault: .unexpectedEnd)
    /// The grammar does not allow a byte at its position.
    public static let unexpectedByte = Self(fault: .unexpectedByte)
    /// The value is well begun, but of another kind than the one asked for.
    public static let typeMismatch = Self(fault: .typeMismatch)
    /// A number breaks the grammar: a leading zero, no digit after the point or the exponent.
    public static let invalidNumber = Self(fault: .invalidNumber)
    /// An integer was asked for, and the number has a fraction or an exponent.
    public static let notAnInteger = Self(fault: .notAnInteger)
    /// The number doesn't fit: an integer outside 64 bits, or a real beyond the finite doubles.
    public static let numberOutOfRange = Self(fault: .numberOutOfRange)
    /// A string holds a raw control character (below U+0020).
    public static let controlCharacter = Self(fault: .controlCharacter)
    /// A backslash is followed by something that isn't an escape.
    public static let invalidEscape = Self(fault: .invalidEscape)
    /// A `\u` escape names half of a surrogate pair without the other half.
    public static let loneSurrogate = Self(fault: .loneSurrogate)
    /// A string isn't well-formed UTF-8.
    public static let invalidUTF8 = Self(fault: .invalidUTF8)
    /// An object has the same key twice.
    public static let duplicateKey = Self(fault: .duplicateKey)
    /// Arrays and objects are nested deeper than the reader's limit.
    public static let tooDeep = Self(fault: .tooDeep)
    /// Something other than white space follows the value.
    public static let trailingBytes = Self(fault: .trailingBytes)
    /// A closure threw inside an array or object, and its reader was used afterwards.
    public static let abandoned = Self(fault: .abandoned)
  }

  /// The kind of fault.
  public let code: Code
  /// The offset of the offending byte, from 0.
  public let offset: Int
  /// The expected kind of value, if the code is `typeMismatch`.
  package let expected: JSONKind?

  init(_ code: Code, offset: Int, expected: JSONKind? = nil) {
    self.code = code
    self.offset = offset
    self.expected = expected
  }

  /// Whether the text can be valid JSON, and only the value is another than the one asked for.
  package var isOfValue: Bool {
    switch code.fault {
    case .typeMismatch, .notAnInteger, .numberOutOfRange: true
    default: false
    }
  }
}

extension JSONError: CustomStringConvertible {
  /// A sentence for people. It contains nothing of the parsed text.
  public var description: String {
    "\(sentence) at byte \(offset)"
  }

  private var sentence: String {
    switch code.fault {
    case .emptyInput: "JSON: no value"
    case .byteOrderMark: "JSON: a byte order mark, which JSON may not begin with,"
    case .unexpectedEnd: "JSON: the text ends inside a value"
    case .unexpectedByte: "JSON: a byte that has no place there"
    case .typeMismatch: "JSON: expected \(expected.map(\.noun) ?? "another kind of value")"
    case .invalidNumber: "JSON: a number that breaks the grammar"
    case .notAnInteger: "JSON: expected an integer without fraction or exponent"
    case .numberOutOfRange: "JSON: a number that doesn't fit"
    case .controlCharacter: "JSON: a control character that isn't escaped"
    case .invalidEscape: "JSON: an unknown escape"
    case .loneSurrogate: "JSON: half of a surrogate pair"
    case .invalidUTF8: "JSON: bytes that are not UTF-8"
    case .duplicateKey: "JSON: a key that the object already has"
    case .tooDeep: "JSON: nested too deep"
    case .trailingBytes: "JSON: something follows the value"
    case .abandoned: "JSON: reading goes on after it was abandoned"
    }
  }
}
