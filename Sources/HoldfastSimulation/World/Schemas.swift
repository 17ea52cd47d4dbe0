import HoldfastCore

/// The schemas of the simulated app: every kind of zone, of reference and of policy.
enum Schemas {
  static func base() throws -> Schema { try Schema(name: "simulation", tables: tables(isNext: false)) }

  /// The next version of the app: a column and a table more.
  ///
  /// - Parameter renames: whether a column has another name, too.
  static func extended(renames: Bool) throws -> Schema {
    try Schema(
      name: "simulation",
      tables: tables(isNext: true, renames: renames) + [
        Table("labels", zone: .parent("list_id"), columns: [list, Column("title", .text)])
      ])
  }

  /// The name that the model knows a column by: its first.
  static func firstName(of column: String) -> String { column == "wording" ? "text" : column }

  /// The public zone.
  static let publicZone = "catalogue"
  /// What the model is told of them.
  static let rules = ModelRules(
    tables: [],
    references: [
      .init(table: "groups", column: "list_id", target: "lists"),
      .init(table: "items", column: "list_id", target: "lists"),
      .init(table: "items", column: "after_id", target: "items", cascades: false),
      .init(table: "items", column: "group_id", target: "groups", cascades: false),
      .init(table: "parts", column: "item_id", target: "items"),
      .init(table: "pairs", column: "list_id", target: "lists"),
      .init(table: "cards", column: "list_id", target: "lists"),
      .init(table: "labels", column: "list_id", target: "lists"),
      .init(table: "links", column: "item_id", target: "items", isInZone: false, cascades: false),
    ], pairs: ["pairs"], publicZones: [publicZone],
    unique: [("items", "code")], places: [("items", "list_id", "position")],
    combining: ["cards": ["tags", "body"]], counters: ["cards": ["stock"]], hearsAnswers: true)

  private static let list = Column(
    "list_id", .reference, required: true, reference: Reference(to: "lists", onDelete: .cascade))

  private static func tables(isNext: Bool, renames: Bool = false) -> [Table] {
    var items = [
      list, Column("title", .text, required: true), Column("note", .text, policy: .server),
      Column("done", .boolean, required: true, default: .integer(0)),
      Column("position", .position, required: true), Column("code", .text),
      Column("after_id", .reference, reference: Reference(to: "items", onDelete: .setNull)),
      Column("group_id", .reference, reference: Reference(to: "groups", onDelete: .restrict)),
    ]
    if isNext { items.append(Column("due", .text)) }
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
      Table(
        "cards", zone: .parent("list_id"),
        columns: [
          list, Column("stock", .integer, minimum: 0, policy: .counter), Column("tags", .json, policy: .set),
          Column("body", .text, policy: .text), Column("answer", .text, policy: .ask),
          Column("said", .text, policy: .client),
        ]),
      Table(
        "notes", zone: .user,
        columns: [renames ? Column("wording", .text, was: ["text"]) : Column("text", .text)]),
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
