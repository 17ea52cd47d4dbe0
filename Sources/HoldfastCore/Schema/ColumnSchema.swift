/// The type of a column's values.
public enum ColumnType: String, Sendable, CaseIterable {
  /// Unicode text.
  case text
  /// A signed 64-bit integer.
  case integer
  /// A finite double.
  case real
  /// True or false; 1 or 0 in SQLite.
  case boolean
  /// RFC 3339, UTC, with milliseconds.
  case timestamp
  /// Any JSON, stored as text.
  case json
  /// The id of a record of another table.
  case reference
  /// A place in an ordered list; see `Position`.
  case position
}

/// Decides the result of concurrent edits of a column. See PROTOCOL.md, section 5.1.
public enum MergePolicy: String, Sendable, CaseIterable {
  /// The later edit by hybrid logical clock.
  case latest
  /// The value that the server already has.
  case server
  /// The edit that reaches the server last.
  case client
  /// For integers: the sum of both increments.
  case counter
  /// For JSON arrays of texts: all added elements are in, all removed ones are out.
  case set
  /// For texts: both changes, word by word; where they overlap, the later one.
  case text
  /// The value that the server already has, until a person chooses.
  case ask
  /// The result of the team's resolver on the server.
  case resolver

  /// The only column type that supports the policy; nil if all do.
  package var columnType: ColumnType? {
    switch self {
    case .counter: .integer
    case .set: .json
    case .text: .text
    case .latest, .server, .client, .ask, .resolver: nil
    }
  }
}

/// The target of a reference, and the effect of deleting it.
public struct Reference: Hashable, Sendable {
  /// The effect on a record when the record that it refers to is deleted.
  public enum OnDelete: String, Sendable, CaseIterable {
    /// It is deleted too.
    case cascade
    /// Its reference becomes null.
    case setNull = "set_null"
    /// The parent can't be deleted while the record exists. Only inside a zone: across zones it would keep others from deleting their own
    /// records.
    case restrict
  }

  /// The name of the referenced table.
  public let table: String
  /// The effect of deleting the parent. The default nil becomes `restrict` inside a zone. Across zones it becomes `setNull`, or `cascade`
  /// if the column is required.
  public let onDelete: OnDelete?
  /// Whether the reference may cross zones even if both tables have the same root.
  public let across: Bool

  /// Creates a reference.
  public init(to table: String, onDelete: OnDelete? = nil, across: Bool = false) {
    self.table = table
    self.onDelete = onDelete
    self.across = across
  }
}

/// A column of a table. Its fields are shared by copies, as those of a table.
public struct ColumnSchema: Hashable, Sendable {
  struct Fields: Hashable, Sendable {
    var name: String
    var type: ColumnType
    var required: Bool
    var defaultValue: Value?
    var maximumLength: Int?
    var minimum: Int64?
    var maximum: Int64?
    var oneOf: [String]
    var policy: MergePolicy
    var reference: Reference?
    var within: String?
    var was: [String]
  }

  private var fields: Shared<Fields>

  /// The name: lower-case letters, digits and `_`, beginning with a letter, at most 63 characters.
  public var name: String {
    get { fields.value.name }
    set { fields.own.name = newValue }
  }
  /// The type of its values.
  public var type: ColumnType {
    get { fields.value.type }
    set { fields.own.type = newValue }
  }
  /// Whether null is invalid.
  public var required: Bool {
    get { fields.value.required }
    set { fields.own.required = newValue }
  }
  /// The value for a create that does not set the column.
  public var defaultValue: Value? {
    get { fields.value.defaultValue }
    set { fields.own.defaultValue = newValue }
  }
  /// For texts, the maximum length in Unicode scalars, 1 to 1,000,000; nil means 10,000.
  public var maximumLength: Int? {
    get { fields.value.maximumLength }
    set { fields.own.maximumLength = newValue }
  }
  /// For integers, the minimum.
  public var minimum: Int64? {
    get { fields.value.minimum }
    set { fields.own.minimum = newValue }
  }
  /// For integers, the maximum.
  public var maximum: Int64? {
    get { fields.value.maximum }
    set { fields.own.maximum = newValue }
  }
  /// For texts, the only allowed values; empty allows any.
  public var oneOf: [String] {
    get { fields.value.oneOf }
    set { fields.own.oneOf = newValue }
  }
  /// The merge policy for concurrent edits.
  public var policy: MergePolicy {
    get { fields.value.policy }
    set { fields.own.policy = newValue }
  }
  /// For references, the target.
  public var reference: Reference? {
    get { fields.value.reference }
    set { fields.own.reference = newValue }
  }
  /// For positions, the reference column that groups records into lists. Nil means the column that determines the table's zone. Under other
  /// zone rules, nil makes the whole zone one list.
  public var within: String? {
    get { fields.value.within }
    set { fields.own.within = newValue }
  }
  /// The former names of the column.
  public var was: [String] {
    get { fields.value.was }
    set { fields.own.was = newValue }
  }

  /// Creates a column. `SyncSchema` checks the combination.
  public init(
    _ name: String, _ type: ColumnType, required: Bool = false, default defaultValue: Value? = nil,
    maximumLength: Int? = nil, minimum: Int64? = nil, maximum: Int64? = nil, oneOf: [String] = [],
    policy: MergePolicy = .latest, reference: Reference? = nil, within: String? = nil,
    was: [String] = []
  ) {
    fields = Shared(
      Fields(
        name: name, type: type, required: required, defaultValue: defaultValue, maximumLength: maximumLength,
        minimum: minimum, maximum: maximum, oneOf: oneOf, policy: policy, reference: reference,
        within: within, was: was))
  }

  /// Whether a server leaves the column out of a record for a device if it is null, which SQL may have written round the service. The
  /// device then stores the default or the emptiest value of the type. A required reference has neither.
  package var isOmittedIfNull: Bool { required && type != .reference }

  /// The maximum length of a text in Unicode scalars.
  package var lengthLimit: Int { maximumLength ?? 10000 }
}
