/// A text as the key of a dictionary or the element of a set: the same as another when their bytes are.
public struct TextKey: Hashable, Comparable, Sendable {
  /// The text.
  public let text: String

  /// The key of a text.
  public init(_ text: String) { self.text = text }

  /// Whether both have the same bytes.
  public static func == (left: TextKey, right: TextKey) -> Bool { left.text == right.text }

  /// Whether one is before the other in the order of their bytes.
  public static func < (left: TextKey, right: TextKey) -> Bool { left.text < right.text }

  /// Feeds the bytes to `hasher`. Texts that `String` takes for equal would have one hash, and somebody could choose a million of them.
  public func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    hasher.combine(0xff as UInt8)
  }
}

extension TextKey: ExpressibleByStringLiteral, CustomStringConvertible {
  /// The key of a literal.
  public init(stringLiteral text: String) { self.init(text) }
  /// The text.
  public var description: String { text }
}
