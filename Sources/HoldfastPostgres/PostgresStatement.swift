/// The text of one SQL statement, and the name under which connections prepare it.
///
/// Create it once, as a constant, and use it with every connection; each prepares it at its first use. The name is derived from the text,
/// so the same text always has the same name.
public struct PostgresStatement: Sendable, Hashable {
  /// The statement, with `$1`, `$2` … for its parameters.
  public let sql: String

  /// The name of the prepared statement.
  let name: String

  /// The number that `name` encodes, and the key for lookups.
  let key: UInt64

  /// Creates a statement.
  ///
  /// - Parameter sql: exactly one statement; pass values as parameters, not in the text.
  public init(_ sql: String) {
    self.sql = sql
    // FNV-1a, <https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>: the same in every process.
    key = sql.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    name = "h\(String(key, radix: 36))"
  }

  /// Whether both have the same text.
  public static func == (left: PostgresStatement, right: PostgresStatement) -> Bool {
    left.key == right.key && left.sql == right.sql
  }

  /// Hashes the key.
  public func hash(into hasher: inout Hasher) { hasher.combine(key) }
}

extension PostgresStatement: ExpressibleByStringLiteral {
  /// Creates a statement of a literal.
  public init(stringLiteral text: String) { self.init(text) }
}
