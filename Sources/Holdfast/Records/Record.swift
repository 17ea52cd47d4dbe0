/// A type whose values are the records of one table.
///
/// Its coding keys are the names of the columns. A `Date` is kept as an RFC 3339 timestamp, to the millisecond; `UUID`, `Data`, `Decimal` and `URL` as
/// texts; what has members or elements in a column of type `json`. What could not be read back as it is throws when it is written. See docs/RECORDS.md.
///
/// ```swift
/// struct Item: Record {
///   static let table = "items"
///   var id: String
///   var title: String
///   var done = false
/// }
/// ```
public protocol Record: Codable, Sendable {
  /// The name of the table.
  static var table: String { get }
  /// The record's id: a lower-case UUIDv7, from `Database.newID()`.
  var id: String { get }
}
