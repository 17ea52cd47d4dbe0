/// One create, update or delete of one record, checked against the schema.
public struct RecordOperation: Sendable {
  /// What is done.
  public enum Kind: String, Sendable {
    /// The record begins.
    case create
    /// Columns change.
    case update
    /// The record ends.
    case delete
  }

  /// A column that the operation sets.
  public struct Setting: Sendable {
    /// The index of the column in its table.
    public let column: Int
    /// The new value.
    public let value: Value
    /// The value that the editor saw before, where it was sent.
    public let base: Value?

    /// A setting of its parts.
    public init(column: Int, value: Value, base: Value? = nil) {
      self.column = column
      self.value = value
      self.base = base
    }
  }

  /// What is done.
  public let kind: Kind
  /// The index of the table in the schema.
  public let table: Int
  /// The record.
  public let id: String
  /// The rev of the record that the operation is based on; 0 when the device knew none.
  public let rev: Int64
  /// When it was made.
  public let stamp: Stamp
  /// The columns it sets: all of them for a create, the changed ones for an update, none for a delete.
  public let settings: [Setting]
  /// The zone that a create in a table with an explicit zone names.
  public let zone: String?
  /// Whether a create brings a deleted record back whatever its maker knew of the deletion. Devices never say so.
  public let isExplicitRestore: Bool
  /// Whether the id was made for this create at random just now, so that no record has it. Devices never say so.
  public let hasNewID: Bool

  /// An operation of its parts.
  public init(
    kind: Kind, table: Int, id: String, rev: Int64, stamp: Stamp, settings: [Setting], zone: String? = nil,
    isExplicitRestore: Bool = false, hasNewID: Bool = false
  ) {
    self.kind = kind
    self.table = table
    self.id = id
    self.rev = rev
    self.stamp = stamp
    self.settings = settings
    self.zone = zone
    self.isExplicitRestore = isExplicitRestore
    self.hasNewID = hasNewID
  }
}
