package import HoldfastCore
import HoldfastService

/// How the store's statements read and write the tables of the schema: docs/POSTGRES.md, section 1.
package struct PostgresLayout: Sendable {
  /// One column of a table.
  package struct Column: Sendable {
    /// The quoted name.
    package let name: String
    /// The expression that reads the column of the table `t` as the wire's value: text, bigint, double precision or boolean.
    let read: String
    /// The suffix that converts such a value to the column's type, such as `::timestamptz`; may be empty.
    var cast = ""
    /// The default expression for a new record without a value; nil for null.
    var filling: String?
    let type: ColumnType

    /// A text column in byte order.
    ///
    /// - Parameter row: the alias of the table with a point, or an empty text.
    func bytes(_ row: String) -> String { "(\(row)\(name)::text) COLLATE \"C\"" }
  }

  /// One table.
  package struct Relation: Sendable {
    /// The name of the table in the schema.
    package let table: String
    /// The quoted and qualified name of the relation.
    package let name: String
    /// Whether the table has a `zone` column, as all tables that Holdfast created.
    let hasZone: Bool
    /// The type of `id`.
    var idType = "text"
    /// The quoted collation of `id`; nil for a type without collations.
    var idCollation: String?
    /// Whether a trigger of the team may change a row before it is written, as the opening has found it.
    var isRewritten = false
    /// The column of the reference that decides the zone, by index; nil for another zone rule.
    var parent: Int?
    package let columns: [Column]

    /// Whether the database fills a column in.
    var isFilled: Bool { columns.contains { $0.filling != nil } }

    /// The suffix that converts a text to an id.
    var idCast: String { idType == "text" ? "" : "::" + idType }

    /// The id as a text, for comparison with texts of Holdfast's own tables: the collation of a team's column would contradict theirs.
    ///
    /// - Parameter row: the alias of the table.
    func id(_ row: String) -> String { "(\(row).\"id\"::text) COLLATE \"C\"" }

    /// The key of a live row `r` of the ledger. Other rows may have ids that have no form of the table's type: only CASE is sure to keep them
    /// from the cast.
    var liveKey: String {
      idCast.isEmpty ? "r.id\(idKey)" : "(CASE WHEN r.state = 0 THEN r.id END)\(idKey)"
    }

    /// Whether a text can be an id of the table.
    func takes(_ id: String) -> Bool { idType != "uuid" || Identifier.isUUID(id) }

    /// The suffix that converts a text of Holdfast's own tables, so that the index of the id finds the record.
    var idKey: String {
      guard let idCollation else { return idCast }
      return idCollation == PostgresColumn.byteCollation ? "" : " COLLATE " + idCollation
    }
  }

  /// In schema order.
  package let relations: [Relation]
  /// The table indexes, each after the tables that it references where the references form no cycle.
  package let order: [Int]
  /// The expression for the timeline of the database; see `PostgresIdentity`.
  var timeline: String?

  package init(_ schema: SyncSchema, relations: [Relation]) {
    self.relations = relations
    order = schema.parentsFirst
  }
}

extension ColumnType {
  /// The array element type of the column's values in parameters.
  var postgresElement: String {
    switch self {
    case .integer: "bigint"
    case .real: "double precision"
    case .boolean: "boolean"
    case .text, .timestamp, .json, .reference, .position: "text"
    }
  }
}
