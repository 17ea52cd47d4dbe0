import HoldfastCore

/// The schemas of the simulated app: every kind of zone, reference and policy.
enum Schemas {
  /// A version of the app and its schema.
  enum Version: Int, CaseIterable {
    case first
    /// With an additional column and an additional table.
    case larger
    /// Without the notes of items.
    case withoutNote
    /// Without the titles of items, which the other versions have.
    case withoutTitle
    /// Without a child table.
    case withoutParts
    /// Without the root table of zones, and all its child tables.
    case withoutLists
  }

  /// The schemas of all versions, in order.
  ///
  /// - Parameter renames: whether a column is renamed in the larger version.
  static func all(renames: Bool) throws -> [SyncSchema] {
    try Version.allCases.map { try schema($0, renames) }
  }

  private static func schema(_ version: Version, _ renames: Bool) throws -> SyncSchema {
    var tables = tables(isNext: version == .larger, renames: renames && version == .larger)
    switch version {
    case .first: break
    case .larger:
      tables.append(
        TableSchema("labels", zone: .parent("list_id"), columns: [list, ColumnSchema("title", .text)]))
    case .withoutNote: tables = tables.map { without("note", of: "items", $0) }
    case .withoutTitle: tables = tables.map { without("title", of: "items", $0) }
    case .withoutParts: tables.removeAll { $0.name == "parts" }
    case .withoutLists:
      tables = tables.filter { ["notes", "links", "articles"].contains($0.name) }
        .map { without("item_id", of: "links", $0) }
    }
    return try SyncSchema(name: "simulation", tables: tables)
  }

  private static func without(_ column: String, of name: String, _ table: TableSchema) -> TableSchema {
    var table = table
    if table.name == name { table.columns.removeAll { $0.name == column } }
    return table
  }

  /// The model's name of a column: its first name.
  static func firstName(of column: String) -> String { column == "wording" ? "text" : column }

  /// The public zone.
  static let publicZone = "catalogue"
  /// The model's rules for these schemas.
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
    combining: ["cards": ["tags", "body"]], counters: ["cards": ["stock"]], answersArrive: true)

  private static let list = ColumnSchema(
    "list_id", .reference, required: true, reference: Reference(to: "lists", onDelete: .cascade))

  private static func tables(isNext: Bool, renames: Bool = false) -> [TableSchema] {
    var items = [
      list, ColumnSchema("title", .text, required: true), ColumnSchema("note", .text, policy: .server),
      ColumnSchema("done", .boolean, required: true, default: .integer(0)),
      ColumnSchema("position", .position, required: true), ColumnSchema("code", .text),
      ColumnSchema("after_id", .reference, reference: Reference(to: "items", onDelete: .setNull)),
      ColumnSchema("group_id", .reference, reference: Reference(to: "groups", onDelete: .restrict)),
    ]
    if isNext { items.append(ColumnSchema("due", .text)) }
    return [
      TableSchema("lists", zone: .root, columns: [ColumnSchema("title", .text, required: true)]),
      TableSchema("groups", zone: .parent("list_id"), columns: [list, ColumnSchema("title", .text)]),
      TableSchema("items", zone: .parent("list_id"), columns: items, unique: [["code"]]),
      TableSchema(
        "parts", zone: .parent("item_id"),
        columns: [
          ColumnSchema(
            "item_id", .reference, required: true, reference: Reference(to: "items", onDelete: .cascade)),
          ColumnSchema("text", .text),
        ]),
      TableSchema(
        "seals", zone: .parent("item_id"),
        columns: [
          ColumnSchema(
            "item_id", .reference, required: true, reference: Reference(to: "items", onDelete: .cascade)),
          ColumnSchema("text", .text),
        ], roles: TableRoles(delete: .owner)),
      TableSchema(
        "pairs", zone: .parent("list_id"),
        columns: [
          list, ColumnSchema("pair", .text, required: true), ColumnSchema("size", .integer, required: true),
        ]),
      TableSchema(
        "cards", zone: .parent("list_id"),
        columns: [
          list, ColumnSchema("stock", .integer, minimum: 0, policy: .counter),
          ColumnSchema("tags", .json, policy: .set),
          ColumnSchema("body", .text, policy: .text), ColumnSchema("answer", .text, policy: .ask),
          ColumnSchema("said", .text, policy: .client),
        ]),
      TableSchema(
        "notes", zone: .user,
        columns: [renames ? ColumnSchema("wording", .text, was: ["text"]) : ColumnSchema("text", .text)]),
      TableSchema(
        "links", zone: .user,
        columns: [
          ColumnSchema("text", .text),
          ColumnSchema("item_id", .reference, reference: Reference(to: "items", onDelete: .setNull)),
        ]),
      TableSchema("articles", zone: .public(publicZone), columns: [ColumnSchema("text", .text)]),
    ]
  }
}
