package import HoldfastCore

/// An ordered list: the records of a table that a position column orders. They share a zone, or a zone and a referenced record. Records
/// without a position are in no list.
package struct RecordList: Hashable, Sendable {
  /// The reference that the records of a list share.
  package struct Parent: Hashable, Sendable {
    /// The index of the reference column.
    package let column: Int
    /// An id, or null: the records without a reference form a list, too.
    package let value: Value
  }

  /// The side of a position on which a neighbour is searched.
  package enum Side: Sendable {
    case before
    case after
  }

  /// The index of the table.
  package let table: Int
  /// The index of the position column.
  package let position: Int
  package let zone: String
  /// Nil if each zone is one list.
  package let parent: Parent?

  /// The list of a record with some values, in a zone.
  package init(_ position: Int, of table: Int, zone: String, values: [Value], in schema: SyncSchema) {
    self.table = table
    self.position = position
    self.zone = zone
    parent = schema.tables[table].list(of: position).map { Parent(column: $0, value: values[$0]) }
  }

  /// Marks below and above all positions. The first record is after `start`, and the last is before `end`.
  package static let start = ""
  package static let end = "~"
}
