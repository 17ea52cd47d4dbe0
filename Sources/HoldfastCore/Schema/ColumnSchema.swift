/// What a column holds.
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
  /// Any JSON, kept as text.
  case json
  /// The id of a record of another table.
  case reference
  /// A place in an ordered list; see `Position`.
  case position
}

/// What becomes of a column when two edits of it did not know of each other. See PROTOCOL.md, section 5.1.
public enum MergePolicy: String, Sendable, CaseIterable {
  /// The later edit by hybrid logical clock.
  case latest
  /// The value that the server already has.
  case server
  /// The edit that reaches the server last.
  case client
  /// Of integers: both increments count.
  case counter
  /// Of JSON arrays of texts: what either added is in, what either removed is out.
  case set
  /// Of texts: both changes, word by word; where they overlap the later one.
  case text
  /// The value that the server already has, until a person chooses.
  case ask
  /// What the team's own function on the server says.
  case resolver

  /// The only type of columns that can have the policy; nil when all can.
  public var columnType: ColumnType? {
    switch self {
    case .counter: .integer
    case .set: .json
    case .text: .text
    case .latest, .server, .client, .ask, .resolver: nil
    }
  }
}

/// What a reference points to, and what the end of the parent does.
public struct Reference: Hashable, Sendable {
  /// What becomes of a record when the one it refers to is deleted.
  public enum OnDelete: String, Sendable, CaseIterable {
    /// It is deleted too.
    case cascade
    /// Its reference becomes null.
    case setNull = "set_null"
    /// The parent can't be deleted while it is there. Inside a zone only: across zones it would keep others from deleting what is theirs.
    case restrict
  }

  /// The name of the table referred to.
  public let table: String
  /// What the end of the parent does. Nil stands for the default until `Schema` fills it in: `restrict` inside a zone, across zones `setNull`
  /// or, of a required column, `cascade`.
  public let onDelete: OnDelete?
  /// Whether the reference may point into another zone even where both tables are under one root.
  public let across: Bool

  /// A reference of its parts.
  public init(to table: String, onDelete: OnDelete? = nil, across: Bool = false) {
    self.table = table
    self.onDelete = onDelete
    self.across = across
  }
}

/// A column of a table.
public struct ColumnSchema: Hashable, Sendable {
  /// The name: lower-case letters, digits and `_`, beginning with a letter, at most 63 characters.
  public var name: String
  /// What it holds.
  public var type: ColumnType
  /// Whether it must have a value.
  public var required: Bool
  /// The value of a create that names none.
  public var defaultValue: Value?
  /// For texts, the greatest length in Unicode scalars, 1 to 1,000,000. Nil means 10,000.
  public var maximumLength: Int?
  /// For integers, the least value.
  public var minimum: Int64?
  /// For integers, the greatest value.
  public var maximum: Int64?
  /// For texts, the only values allowed; empty for any.
  public var oneOf: [String]
  /// What becomes of two edits that meet.
  public var policy: MergePolicy
  /// For references, what it points to.
  public var reference: Reference?
  /// For positions, the reference column whose records form one list. Nil for the one that decides the table's zone, or, where another
  /// rule does, for the whole zone as one list.
  public var within: String?
  /// The names that the column had before.
  public var was: [String]

  /// A column of its parts. Whether they fit together is checked by `Schema`.
  public init(
    _ name: String, _ type: ColumnType, required: Bool = false, default defaultValue: Value? = nil,
    maximumLength: Int? = nil, minimum: Int64? = nil, maximum: Int64? = nil, oneOf: [String] = [],
    policy: MergePolicy = .latest, reference: Reference? = nil, within: String? = nil,
    was: [String] = []
  ) {
    self.name = name
    self.type = type
    self.required = required
    self.defaultValue = defaultValue
    self.maximumLength = maximumLength
    self.minimum = minimum
    self.maximum = maximum
    self.oneOf = oneOf
    self.policy = policy
    self.reference = reference
    self.within = within
    self.was = was
  }

  /// The greatest length of a text in Unicode scalars.
  public var lengthLimit: Int { maximumLength ?? 10000 }
}
