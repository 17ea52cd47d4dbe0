public import HoldfastCore

/// A record as validators and resolvers see it.
public struct RuledRecord: Sendable {
  /// The name of the record's table.
  public let table: String
  /// The record's id.
  public let id: String
  /// The record's zone.
  public let zone: String
  private let columns: [ColumnSchema]
  private let values: [Value]

  package init(_ record: StoredRecord, _ table: TableSchema) {
    self.table = table.name
    id = record.id
    zone = record.zone
    columns = table.columns
    values = record.values
  }

  /// The value of a column in its wire form; null for an unknown column.
  public subscript(column: String) -> JSONValue {
    zip(columns, values).first { $0.0.name == column }.map { $0.json(of: $1) } ?? .null
  }
}

/// Thrown by a validator or resolver to refuse a change set. The answer is `validation-failed`.
public struct ValidationError: Error, Sendable {
  /// The reason, for the person who wrote the value. The server sends it to the device.
  public let detail: String

  /// Creates an error with a reason.
  public init(_ detail: String) { self.detail = detail }
}
