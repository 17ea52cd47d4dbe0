import HoldfastCore
import HoldfastService

/// A column as PostgreSQL stores it: its type, and the SQL that reads and writes it as the wire's value.
struct PostgresColumn: Sendable, Hashable {
  /// The types that can hold a value of the schema.
  enum Kind: String, Sendable, CaseIterable {
    case text, varchar, character, citext, uuid, enumeration
    case smallint, integer, bigint, numeric, real, double, boolean
    case timestamptz, timestamp, date, json, jsonb
  }

  /// The name, as in the schema.
  let name: String
  let kind: Kind
  /// The type in a cast, qualified if necessary: `"app"."mood"`, `numeric`. It is the base type of a domain, and has no modifier: an explicit
  /// cast to `varchar(20)` truncates without an error, whereas the assignment to the column refuses a longer text.
  var type: String
  /// The quoted collation of the column; nil for a type without collations.
  var collation: String?
  /// The expression of the column's default; nil without one.
  var defaultExpression: String?
  var isRequired = false

  /// The quoted name.
  var quoted: String { PostgresName.quoted(name) }

  /// The expression of the wire's value: `text`, `bigint`, `double precision` or `boolean`; JSON as its text.
  ///
  /// - Parameter row: the alias of the table.
  func read(_ row: String) -> String {
    let value = "\(row).\(quoted)"
    switch kind {
    case .text, .bigint, .boolean: return value
    case .varchar, .character, .citext, .uuid, .enumeration, .numeric, .json, .jsonb: return "\(value)::text"
    case .smallint, .integer: return "\(value)::bigint"
    // Devices hold only finite numbers, and what they send back must fit the type.
    case .real, .double:
      let number = kind == .real ? "\(value)::text::double precision" : value
      let greatest = kind == .real ? "3.4028235e38" : "1.7976931348623157e308"
      return Self.bounded(number, value, "-\(greatest)", greatest)
    case .timestamptz: return Self.moment("\(value) AT TIME ZONE 'UTC'")
    case .timestamp: return Self.moment(value)
    case .date:
      // Some dates are outside the range of timestamps.
      let inRange = Self.bounded(value, value, "'0001-01-01'::date", "'9999-12-31'::date")
      return Self.moment("(\(inRange))::timestamp")
    }
  }

  /// The suffix that converts the wire's value to the column's type.
  var cast: String {
    switch kind {
    case .text, .bigint, .double, .boolean, .varchar, .character: ""
    case .citext, .uuid, .enumeration, .json, .jsonb, .numeric, .smallint, .integer, .real: "::" + type
    case .timestamptz: "::timestamptz"
    case .timestamp, .date: "::timestamptz AT TIME ZONE 'UTC'"
    }
  }

  /// An id or reference as text, for comparison with texts of Holdfast's own tables.
  func id(_ row: String) -> String {
    let value = "\(row).\(quoted)"
    if kind == .text { return collation == PostgresColumn.byteCollation ? value : "\(value) COLLATE \"C\"" }
    return "\(value)::text COLLATE \"C\""
  }

  /// A text of Holdfast's own tables, for comparison with this id or reference by its index.
  func key(_ text: String) -> String {
    switch kind {
    case .uuid: "\(text)::uuid"
    case .citext: "\(text)::\(type)"
    default: collation.map { $0 == PostgresColumn.byteCollation ? text : "\(text) COLLATE \($0)" } ?? text
    }
  }

  /// An array of such texts, for comparison with this id or reference by its index.
  func keys(_ texts: String) -> String {
    switch kind {
    case .uuid: "\(texts)::uuid[]"
    case .citext: "\(texts)::\(type)[]"
    default: key(texts)
    }
  }

  /// A reference to this id in a row, for comparison with the id by its index.
  func key(of reference: PostgresColumn, _ row: String) -> String {
    let value = "\(row).\(reference.quoted)"
    guard let collation, collation != reference.collation else { return value }
    return "\(value) COLLATE \(collation)"
  }

  /// Whether two rows differ in the column from a device's point of view.
  func differs(_ old: String, _ new: String) -> String {
    "\(exact(old)) IS DISTINCT FROM \(exact(new))"
  }

  /// An expression that is equal exactly if the bytes are. Some types have no equality operator, and some treat different texts as equal.
  private func exact(_ row: String) -> String {
    let value = "\(row).\(quoted)"
    switch kind {
    case .text: return collation == Self.byteCollation ? value : "\(value) COLLATE \"C\""
    case .varchar, .character, .citext, .numeric, .json, .jsonb: return "\(value)::text COLLATE \"C\""
    default: return value
    }
  }

  /// The name of the collation that compares bytes.
  static let byteCollation = "\"C\""

  /// A timestamp without time zone as the wire's text, clamped to the years that the wire supports.
  private static func moment(_ timestamp: String) -> String {
    let inRange = Self.bounded(
      timestamp, timestamp, "'0001-01-01'::timestamp", "'9999-12-31 23:59:59.999'::timestamp")
    return "to_char(\(inRange), 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
  }

  /// Clamps a value between two bounds. `least` and `greatest` ignore NULL, so NULL is handled separately.
  private static func bounded(_ number: String, _ value: String, _ least: String, _ greatest: String)
    -> String
  {
    "CASE WHEN \(value) IS NOT NULL THEN least(greatest(\(number), \(least)), \(greatest)) END"
  }
}
