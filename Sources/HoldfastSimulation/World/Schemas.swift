import HoldfastCore

/// The schemas of the simulated app: every kind of zone, of reference and of policy.
enum Schemas {
  /// A version of the app, and so of the schema.
  enum Version: Int, CaseIterable {
    case first
    /// With a column and a table more.
    case larger
    /// Without the notes of items.
    case withoutNote
    /// Without the titles of items, which each has in the others.
    case withoutTitle
    /// Without a table that stands under another.
    case withoutParts
    /// Without the table whose records are zones, and all that stands under it.
    case withoutLists
  }

  /// The schemas of all versions, in their order.
  ///
  /// - Parameter renames: whether a column has another name in the larger one.
  static func all(renames: Bool) throws -> [Schema] { try Version.allCases.map { try schema($0, renames) } }

  private static func schema(_ version: Version, _ renames: Bool) throws -> Schema {
    var tables = tables(isNext: version == .larger, renames: renames && version == .larger)
    switch version {
    case .first: break
    case .larger:
      tables.append(Table("labels", zone: .parent("list_id"), columns: [list, Column("title", .text)]))
    case .withoutNote: tables = tables.map { without("note", of: "items", $0) }
    case .withoutTitle: tables = tables.map { without("title", of: "items", $0) }
    case .withoutParts: tables.removeAll { $0.name == "parts" }
    case .withoutLists:
      tables = tables.filter { ["notes", "links", "articles"].contains($0.name) }
        .map { without("item_id", of: "links", $0) }
    }
    return try Schema(name: "simulation", tables: tables)
  }

  private static func without(_ column: String, of name: String, _ table: Table) -> Table {
    var table = table
    if table.name == name { table.columns.removeAll { $0.name == column } }
    return table
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
      .init(table: "seals", column: "item_id", target: "items"),
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
        "seals", zone: .parent("item_id"),
        columns: [
          Column(
            "item_id", .reference, required: true, reference: Reference(to: "items", onDelete: .cascade)),
          Column("text", .text),
        ], roles: TableRoles(delete: .owner)),
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
