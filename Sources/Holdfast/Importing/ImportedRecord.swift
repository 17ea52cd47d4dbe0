public import HoldfastCore
public import HoldfastSQLite

/// A record of another database, as it is there.
///
/// ```swift
/// ImportedRecord(table: "items", key: "17", columns: ["title": .text("Milk"), "list_id": .integer(3)])
/// ```
public struct ImportedRecord: Sendable, Hashable {
  /// The name of the table in this store.
  public var table: String
  /// The record's key in the other database.
  public var key: String
  /// The values by the names of this store's columns. A reference has the key of the other record.
  public var columns: TextMap<SQLiteValue>
  /// Whether the other database says that the record was deleted.
  public var isDeleted: Bool

  /// A record of its parts.
  public init(table: String, key: String, columns: TextMap<SQLiteValue> = [:], isDeleted: Bool = false) {
    self.table = table
    self.key = key
    self.columns = columns
    self.isDeleted = isDeleted
  }
}

/// The result of an import.
///
/// ```swift
/// let report = try await store.importRecords(from: "old.sqlite", namespace: installation)
/// print(report.created, report.problems.map(\.reason))
/// ```
public struct ImportReport: Sendable, Hashable {
  /// A record that was not imported, or not with all of its values.
  public struct Problem: Sendable, Hashable {
    /// The table.
    public let table: String
    /// The key of the record in the other database.
    public let key: String
    /// Whether the record was left out; else it was imported without the value.
    public let isLeftOut: Bool
    /// The reason and the remedy, for a person.
    public let reason: String

    /// A problem of its parts.
    package init(table: String, key: String, isLeftOut: Bool, reason: String) {
      (self.table, self.key, self.isLeftOut, self.reason) = (table, key, isLeftOut, reason)
    }
  }

  /// How many records were created.
  public var created = 0
  /// How many records got other values.
  public var updated = 0
  /// How many records were in the store already, and stay as they are.
  public var kept = 0
  /// How many records were deleted, since the other database says so.
  public var deleted = 0
  /// The records that need a person's attention.
  public var problems: [Problem] = []
  /// The tables and columns of the other database that the schema does not have, such as `items.colour`.
  public var ignored: [String] = []

  /// A report of nothing.
  package init() {}
}
