/// A text as a dictionary key or set element, compared by bytes.
public struct TextKey: Hashable, Comparable, Sendable {
  /// The text.
  public let text: String

  /// Creates the key of a text.
  @inlinable
  public init(_ text: String) { self.text = text }

  /// Whether both have the same bytes.
  public static func == (left: TextKey, right: TextKey) -> Bool { left.text == right.text }

  /// Whether `left` precedes `right` in byte order.
  public static func < (left: TextKey, right: TextKey) -> Bool { left.text < right.text }

  /// Hashes the bytes. With `String`'s hash, canonically equivalent texts would collide, and an attacker could send a million of them.
  public func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    hasher.combine(0xff as UInt8)
  }
}

extension TextKey: ExpressibleByStringLiteral, CustomStringConvertible {
  /// Creates the key of a literal.
  public init(stringLiteral text: String) { self.init(text) }
  /// The text.
  public var description: String { text }
}
