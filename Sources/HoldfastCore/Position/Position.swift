/// A place in an ordered list: an ASCII string whose byte order is the list's order.
///
/// Devices make positions offline and independently: see ``between(_:_:replica:nonce:)``. Sort by `position, id` with a binary collation
/// (SQLite's default, PostgreSQL's `COLLATE "C"`). docs/POSITIONS.md has the grammar, the proof of the order and measured lengths.
///
/// Source: Weidner and Kleppmann, "The Art of the Fugue" (2023); Weidner's position-strings.
public struct Position: Hashable, Sendable {
  /// The maximum length of a position in bytes. An index entry of PostgreSQL holds at most about 2,700.
  public static let maximumLength = 2000

  /// The stored and transmitted form.
  public let string: String

  /// Validates a received position.
  ///
  /// - Throws: ``PositionError`` if no replica can have made it.
  public init(validating string: String) throws(PositionError) {
    let length = string.utf8.count
    guard length <= Self.maximumLength else { throw PositionError(.tooLong, offset: Self.maximumLength) }
    _ = try PositionPath(parsing: Array(string.utf8))
    self.string = string
  }

  init(unchecked bytes: [UInt8]) {
    string = String(decoding: bytes, as: UTF8.self)
  }
}

extension Position: Comparable {
  /// Whether `left` precedes `right`, by byte order.
  public static func < (left: Position, right: Position) -> Bool {
    left.string.utf8.lexicographicallyPrecedes(right.string.utf8)
  }
}

extension Position: CustomStringConvertible {
  /// The stored and transmitted form.
  public var description: String { string }
}
