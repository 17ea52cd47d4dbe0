package import HoldfastCore

/// Records of a table that are in order by a position column: those of a zone, or those in it that refer to one record. A record without a
/// position is in no list.
package struct RecordList: Hashable, Sendable {
  /// What the records have in common besides the zone.
  package struct Parent: Hashable, Sendable {
    /// The index of the reference column.
    package let column: Int
    /// An id, or null: the records that refer to none are a list, too.
    package let value: Value
  }

  /// The side of a place on which a neighbour is looked for.
  package enum Side: Sendable {
    case before
    case after
  }

  /// The index of the table.
  package let table: Int
  /// The index of the position column.
  package let position: Int
  package let zone: String
  /// Nil where each zone is one list.
  package let parent: Parent?

  /// The list that a record with some values is in, in a zone.
  package init(_ position: Int, of table: Int, zone: String, values: [Value], in schema: SyncSchema) {
    self.table = table
    self.position = position
    self.zone = zone
    parent = schema.tables[table].list(of: position).map { Parent(column: $0, value: values[$0]) }
  }

  /// Less than all positions, and greater than all: behind the one the first of a list is found, and before the other the last.
  package static let start = ""
  package static let end = "~"
}
