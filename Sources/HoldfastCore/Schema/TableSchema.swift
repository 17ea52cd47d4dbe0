/// The rule that determines the zone of a table's records.
public enum ZoneRule: Hashable, Sendable {
  /// Each record is a zone of its own. Its creator becomes the owner.
  case root
  /// The zone of the record that the named, required reference column points to.
  case parent(String)
  /// The private zone of the user who creates the record.
  case user
  /// The public zone of this name, which every user may read.
  case `public`(String)
  /// The record names its zone: the built-in table `members`.
  case explicit
  /// Only the server creates records: the built-in table `conflicts`.
  case server
}

/// The minimum role for each operation on a table.
public struct TableRoles: Hashable, Sendable {
  /// For creates. Every user may create a `root` record.
  public var create: Role
  /// For updates.
  public var update: Role
  /// For deletes.
  public var delete: Role

  /// Creates roles.
  public init(create: Role = .editor, update: Role = .editor, delete: Role = .editor) {
    self.create = create
    self.update = update
    self.delete = delete
  }
}

/// A table of records.
///
/// The server copies it for each record, so its fields are in one object, which a copy shares until one of both changes.
public struct TableSchema: Hashable, Sendable {
  struct Fields: Hashable, Sendable {
    var name: String
    var zone: ZoneRule
    var columns: [ColumnSchema]
    var unique: [[String]]
    var indexes: [[String]]
    var roles: TableRoles
    var was: [String]
  }

  private var fields: Shared<Fields>

  /// The name, in the same form as a column's.
  public var name: String {
    get { fields.value.name }
    set { fields.own.name = newValue }
  }
  /// The rule that determines the zone of the records.
  public var zone: ZoneRule {
    get { fields.value.zone }
    set { fields.own.zone = newValue }
  }
  /// The columns besides `id`, `zone`, `rev` and `seq`, which every table has.
  public var columns: [ColumnSchema] {
    get { fields.value.columns }
    set { fields.own.columns = newValue }
  }
  /// Groups of columns whose combined values are unique in a zone.
  public var unique: [[String]] {
    get { fields.value.unique }
    set { fields.own.unique = newValue }
  }
  /// The indexes, each a list of columns, for queries on the server within a zone.
  public var indexes: [[String]] {
    get { fields.value.indexes }
    set { fields.own.indexes = newValue }
  }
  /// The minimum role for each operation.
  public var roles: TableRoles {
    get { fields.value.roles }
    set { fields.own.roles = newValue }
  }
  /// The former names of the table.
  public var was: [String] {
    get { fields.value.was }
    set { fields.own.was = newValue }
  }

  /// Creates a table. `SyncSchema` checks the combination.
  public init(
    _ name: String, zone: ZoneRule, columns: [ColumnSchema], unique: [[String]] = [],
    indexes: [[String]] = [], roles: TableRoles = TableRoles(), was: [String] = []
  ) {
    fields = Shared(
      Fields(
        name: name, zone: zone, columns: columns, unique: unique, indexes: indexes, roles: roles, was: was))
  }

  /// The index of a column; nil if unknown.
  public func index(of column: String) -> Int? { columns.firstIndex { $0.name == column } }

  /// The index of the column with a current or former name; nil if unknown.
  package func index(called name: String) -> Int? {
    index(of: name) ?? columns.firstIndex { $0.was.contains(name) }
  }

  /// The index of the column with a current or former name, given as a JSON key; nil if unknown.
  package func index(called key: JSONKey) -> Int? {
    columns.firstIndex { key.matches($0.name) }
      ?? columns.firstIndex { column in column.was.contains { key.matches($0) } }
  }

  /// Whether the table is built in.
  package var isBuiltIn: Bool { zone == .explicit || zone == .server }

  /// The column of `members` that only the server writes: the id of the inviting user until the invited user accepts, then null.
  package static let inviterColumn = "invited_by"

  /// The members of zones, with their roles.
  package static let members = TableSchema(
    "members", zone: .explicit,
    columns: [
      ColumnSchema("user", .text, maximumLength: 64), ColumnSchema("name", .text, maximumLength: 64),
      ColumnSchema("role", .text, required: true, oneOf: Role.allCases.map(\.rawValue)),
      ColumnSchema("group", .text, maximumLength: 64), ColumnSchema(inviterColumn, .text, maximumLength: 64),
    ],
    unique: [["user"], ["group"]], roles: TableRoles(create: .owner, update: .owner, delete: .viewer))

  /// The only column of `conflicts` that users write.
  package static let resolutionColumn = "resolution"

  /// The bytes of the JSON of the longest text: a scalar takes six bytes at most.
  private static let longestTextJSON = 6_000_002

  /// Conflicting edits, with both values. The server creates them; users resolve them.
  package static let conflicts = TableSchema(
    "conflicts", zone: .server,
    columns: [
      ColumnSchema("record_table", .text, required: true), ColumnSchema("record_id", .text, required: true),
      ColumnSchema("column_name", .text, required: true), ColumnSchema("policy", .text, required: true),
      ColumnSchema("base", .json, maximumLength: longestTextJSON),
      ColumnSchema("winner_value", .json, maximumLength: longestTextJSON),
      ColumnSchema("loser_value", .json, maximumLength: longestTextJSON),
      ColumnSchema("winner_user", .text), ColumnSchema("winner_device", .text),
      ColumnSchema("winner_at", .timestamp),
      ColumnSchema("loser_user", .text), ColumnSchema("loser_device", .text),
      ColumnSchema("loser_at", .timestamp),
      ColumnSchema(resolutionColumn, .text, oneOf: ["winner", "loser", "other"]),
      ColumnSchema("resolved_by", .text),
      ColumnSchema("resolved_at", .timestamp),
    ], indexes: [["record_id"], ["resolution"]])
}
