/// A create, update or delete of one record, checked against the schema.
public struct RecordOperation: Sendable {
  /// The kind of operation.
  public enum Kind: String, Sendable {
    /// Creates the record.
    case create
    /// Changes columns.
    case update
    /// Deletes the record.
    case delete
  }

  /// A column that the operation sets.
  package struct Setting: Sendable {
    /// The index of the column in its table.
    package let column: Int
    /// The new value.
    package let value: Value
    /// The value before the edit on its device; nil if not sent.
    package let base: Value?

    /// Creates a setting.
    package init(column: Int, value: Value, base: Value? = nil) {
      self.column = column
      self.value = value
      self.base = base
    }
  }

  /// The kind of operation.
  package let kind: Kind
  /// The index of the table in the schema.
  package let table: Int
  /// The record's id.
  package let id: String
  /// The record's `rev` that the operation is based on; 0 if the device knew none.
  package let rev: Int64
  /// The time of the operation.
  package let stamp: Stamp
  /// The columns to set: all for a create, the changed ones for an update, none for a delete.
  package let settings: [Setting]
  /// The zone of a create in a table with explicit zones.
  package let zone: String?
  /// Whether a create named columns, without a value, that the schema does not have.
  package let isPartial: Bool
  /// Whether a create restores a deleted record even if its author knew of the deletion. Devices never set it.
  package let isExplicitRestore: Bool
  /// Whether the id is new and random, so that no record can have it. Devices never set it.
  package let hasNewID: Bool

  /// Creates an operation.
  package init(
    kind: Kind, table: Int, id: String, rev: Int64, stamp: Stamp, settings: [Setting], zone: String? = nil,
    isPartial: Bool = false, isExplicitRestore: Bool = false, hasNewID: Bool = false
  ) {
    self.kind = kind
    self.table = table
    self.id = id
    self.rev = rev
    self.stamp = stamp
    self.settings = settings
    self.zone = zone
    self.isPartial = isPartial
    self.isExplicitRestore = isExplicitRestore
    self.hasNewID = hasNewID
  }
}
