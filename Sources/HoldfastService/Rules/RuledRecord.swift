public import HoldfastCore

/// A record as a team's own rules see it.
public struct RuledRecord: Sendable {
  /// The name of its table.
  public let table: String
  /// Its id.
  public let id: String
  /// Its zone.
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

  /// The value of a column in the form of the wire; null also where there is no such column.
  public subscript(column: String) -> JSONValue {
    zip(columns, values).first { $0.0.name == column }.map { $0.json(of: $1) } ?? .null
  }
}

/// Why a team's own rule refuses a change set: it is answered with `validation-failed`.
public struct ValidationError: Error, Sendable {
  /// What is wrong, for the person who wrote it: it is sent back.
  public let detail: String

  /// An error with its text.
  public init(_ detail: String) { self.detail = detail }
}
