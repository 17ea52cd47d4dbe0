/// How a table's records find their zone.
public enum ZoneRule: Hashable, Sendable {
  /// Each record is a zone of its own, of which its maker is the owner.
  case root
  /// The zone of the record that a required reference column, named here, points to.
  case parent(String)
  /// The private zone of the user who makes the record.
  case user
  /// The public zone of this name, which all may read.
  case `public`(String)
  /// The record says its zone itself: the built-in table `members`.
  case explicit
  /// Only the server makes records: the built-in table `conflicts`.
  case server
}

/// The least role that an operation on a table takes.
public struct TableRoles: Hashable, Sendable {
  /// For creates; a `root` record may be created by every user.
  public var create: Role
  /// For updates.
  public var update: Role
  /// For deletes.
  public var delete: Role

  /// Roles of their parts.
  public init(create: Role = .editor, update: Role = .editor, delete: Role = .editor) {
    self.create = create
    self.update = update
    self.delete = delete
  }
}

/// A table of records.
public struct TableSchema: Hashable, Sendable {
  /// The name; the same form as a column's.
  public var name: String
  /// How the records find their zone.
  public var zone: ZoneRule
  /// The columns besides `id`, `zone`, `rev` and `seq`, which every table has.
  public var columns: [ColumnSchema]
  /// Groups of columns whose values together are unique in a zone.
  public var unique: [[String]]
  /// The indexes, each of some columns in their order, by which the server finds records in a zone for programs that keep no copy.
  public var indexes: [[String]]
  /// Who may do what.
  public var roles: TableRoles
  /// The names that the table had before.
  public var was: [String]

  /// A table of its parts. Whether they fit together is checked by `Schema`.
  public init(
    _ name: String, zone: ZoneRule, columns: [ColumnSchema], unique: [[String]] = [],
    indexes: [[String]] = [], roles: TableRoles = TableRoles(), was: [String] = []
  ) {
    self.name = name
    self.zone = zone
    self.columns = columns
    self.unique = unique
    self.indexes = indexes
    self.roles = roles
    self.was = was
  }

  /// The index of a column, or nil.
  public func index(of column: String) -> Int? { columns.firstIndex { $0.name == column } }

  /// The index of the column that has a name, or had it before; nil when there is none.
  public func index(called name: String) -> Int? {
    index(of: name) ?? columns.firstIndex { $0.was.contains(name) }
  }

  /// The same, of a name in JSON.
  public func index(called key: JSONKey) -> Int? {
    columns.firstIndex { key.matches($0.name) }
      ?? columns.firstIndex { column in column.was.contains { key.matches($0) } }
  }

  /// Whether the table is one of Holdfast's own.
  public var isBuiltIn: Bool { zone == .explicit || zone == .server }

  /// The column of `members` that the server alone writes: the id of the user who invited, until the invited user accepts; else null.
  public static let inviterColumn = "invited_by"

  /// Who belongs to a zone, and in which role.
  public static let members = TableSchema(
    "members", zone: .explicit,
    columns: [
      ColumnSchema("user", .text, maximumLength: 64), ColumnSchema("name", .text, maximumLength: 64),
      ColumnSchema("role", .text, required: true, oneOf: Role.allCases.map(\.rawValue)),
      ColumnSchema("group", .text, maximumLength: 64), ColumnSchema(inviterColumn, .text, maximumLength: 64),
    ],
    unique: [["user"], ["group"]], roles: TableRoles(create: .owner, update: .owner, delete: .viewer))

  /// The one column of `conflicts` that people write.
  public static let resolutionColumn = "resolution"

  /// Concurrent edits, with both values. The server makes them; people say which one holds.
  public static let conflicts = TableSchema(
    "conflicts", zone: .server,
    columns: [
      ColumnSchema("record_table", .text, required: true), ColumnSchema("record_id", .text, required: true),
      ColumnSchema("column_name", .text, required: true), ColumnSchema("policy", .text, required: true),
      ColumnSchema("base", .json), ColumnSchema("winner_value", .json), ColumnSchema("loser_value", .json),
      ColumnSchema("winner_user", .text), ColumnSchema("winner_device", .text),
      ColumnSchema("winner_at", .timestamp),
      ColumnSchema("loser_user", .text), ColumnSchema("loser_device", .text),
      ColumnSchema("loser_at", .timestamp),
      ColumnSchema(resolutionColumn, .text, oneOf: ["winner", "loser", "other"]),
      ColumnSchema("resolved_by", .text),
      ColumnSchema("resolved_at", .timestamp),
    ], indexes: [["record_id"], ["resolution"]])
}
