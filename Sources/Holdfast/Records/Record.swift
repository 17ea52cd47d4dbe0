/// A type whose values are the records of one table.
///
/// Its coding keys are the names of the columns. `Bool` is kept as 0 or 1, a `Date` as an RFC 3339 timestamp, and a value that is
/// itself an object or an array as JSON.
public protocol Record: Codable, Sendable {
  /// The name of the table.
  static var table: String { get }
  /// The record's id: a lower-case UUIDv7, from `Database.newID()`.
  var id: String { get }
}
