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
public struct Table: Hashable, Sendable {
  /// The name; the same form as a column's.
  public var name: String
  /// How the records find their zone.
  public var zone: ZoneRule
  /// The columns besides `id`, `zone`, `rev` and `seq`, which every table has.
  public var columns: [Column]
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
    _ name: String, zone: ZoneRule, columns: [Column], unique: [[String]] = [],
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
  public static let members = Table(
    "members", zone: .explicit,
    columns: [
      Column("user", .text, maximumLength: 64), Column("name", .text, maximumLength: 64),
      Column("role", .text, required: true, oneOf: Role.allCases.map(\.rawValue)),
      Column("group", .text, maximumLength: 64), Column(inviterColumn, .text, maximumLength: 64),
    ],
    unique: [["user"], ["group"]], roles: TableRoles(create: .owner, update: .owner, delete: .viewer))

  /// The one column of `conflicts` that people write.
  public static let resolutionColumn = "resolution"

  /// Edits that met, with both values. The server makes them; people say which one holds.
  public static let conflicts = Table(
    "conflicts", zone: .server,
    columns: [
      Column("record_table", .text, required: true), Column("record_id", .text, required: true),
      Column("column_name", .text, required: true), Column("policy", .text, required: true),
      Column("base", .json), Column("winner_value", .json), Column("loser_value", .json),
      Column("winner_user", .text), Column("winner_device", .text), Column("winner_at", .timestamp),
      Column("loser_user", .text), Column("loser_device", .text), Column("loser_at", .timestamp),
      Column(resolutionColumn, .text, oneOf: ["winner", "loser", "other"]), Column("resolved_by", .text),
      Column("resolved_at", .timestamp),
    ], indexes: [["record_id"], ["resolution"]])
}
