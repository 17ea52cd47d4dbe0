import HoldfastCore

/// The schemas of the simulated app: every kind of zone, of reference and of policy.
enum Schemas {
  static func base() throws -> Schema { try Schema(name: "simulation", tables: tables(withDue: false)) }

  /// The next version of the app: a column and a table more.
  static func extended() throws -> Schema {
    try Schema(
      name: "simulation",
      tables: tables(withDue: true) + [
        Table("labels", zone: .parent("list_id"), columns: [list, Column("title", .text)])
      ])
  }

  /// The public zone.
  static let publicZone = "catalogue"
  /// The tables of the base schema and the built-in ones, and those of the extended.
  static let names = [
    "lists", "groups", "items", "parts", "pairs", "notes", "links", "articles", "members", "conflicts",
    "labels",
  ]

  /// The references inside zones: a table, its column, and the table referred to.
  static let references = [
    ("groups", "list_id", "lists"), ("items", "list_id", "lists"), ("items", "after_id", "items"),
    ("items", "group_id", "groups"), ("parts", "item_id", "items"), ("pairs", "list_id", "lists"),
    ("labels", "list_id", "lists"),
  ]

  private static let list = Column(
    "list_id", .reference, required: true, reference: Reference(to: "lists", onDelete: .cascade))

  private static func tables(withDue: Bool) -> [Table] {
    var items = [
      list, Column("title", .text, required: true), Column("note", .text, policy: .server),
      Column("done", .boolean, required: true, default: .integer(0)),
      Column("position", .position, required: true), Column("code", .text),
      Column("after_id", .reference, reference: Reference(to: "items", onDelete: .setNull)),
      Column("group_id", .reference, reference: Reference(to: "groups", onDelete: .restrict)),
    ]
    if withDue { items.append(Column("due", .text)) }
    return [
      Table("lists", zone: .root, columns: [Column("title", .text, required: true)]),
      Table("groups", zone: .parent("list_id"), columns: [list, Column("title", .text)]),
      Table("items", zone: .parent("list_id"), columns: items, unique: [["code"]]),
      Table(
        "parts", zone: .parent("item_id"),
        columns: [
          Column(
            "item_id", .reference, required: true, reference: Reference(to: "items", onDelete: .cascade)),
          Column("text", .text),
        ]),
      Table(
        "pairs", zone: .parent("list_id"),
        columns: [list, Column("pair", .text, required: true), Column("size", .integer, required: true)]),
      Table("notes", zone: .user, columns: [Column("text", .text)]),
      Table(
        "links", zone: .user,
        columns: [
          Column("text", .text),
          Column("item_id", .reference, reference: Reference(to: "items", onDelete: .setNull)),
        ]),
      Table("articles", zone: .public(publicZone), columns: [Column("text", .text)]),
    ]
  }
}
