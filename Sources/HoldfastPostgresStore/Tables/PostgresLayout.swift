package import HoldfastCore
import HoldfastService

/// How the store's statements read and write the tables of the schema; docs/POSTGRES.md, section 1.
package struct PostgresLayout: Sendable {
  /// One column of a table.
  package struct Column: Sendable {
    /// The name, quoted.
    package let name: String
    /// The expression, over the table as `t`, that reads it as a value of the wire: text, bigint, double precision or boolean.
    let read: String
    /// What is put behind such a value to make it one of the column: `::timestamptz`, or nothing.
    var cast = ""
    /// What the database puts where a new record has no value; nil for null.
    var filling: String?
    let type: ColumnType

    /// A text column in the order of its bytes.
    ///
    /// - Parameter row: the table, with a point behind it, or nothing.
    func bytes(_ row: String) -> String { "(\(row)\(name)::text) COLLATE \"C\"" }
  }

  /// One table.
  package struct Relation: Sendable {
    /// The name in the schema.
    package let table: String
    /// The relation, quoted, with its namespace.
    package let name: String
    /// Whether it has a `zone` column, as those have that Holdfast made.
    let hasZone: Bool
    /// The type of `id`.
    var idType = "text"
    /// The collation of `id`, quoted; nil for a type that has none.
    var idCollation: String?
    package let columns: [Column]

    /// What is put behind a text to make it an id.
    var idCast: String { idType == "text" ? "" : "::" + idType }

    /// Whether a text can be an id of the table.
    func takes(_ id: String) -> Bool { idType != "uuid" || Identifier.isUUID(id) }

    /// What is put behind a text of Holdfast's own tables to find the record by the index of its id.
    var idKey: String {
      guard let idCollation else { return idCast }
      return idCollation == PostgresColumn.byteCollation ? "" : " COLLATE " + idCollation
    }
  }

  /// In the order of the schema.
  package let relations: [Relation]
  /// The indexes of the tables so that each comes behind those that it refers to, as far as that is possible.
  package let order: [Int]
  /// Whether the tables are distributed by zone.
  package let isDistributed: Bool

  package init(_ schema: SyncSchema, relations: [Relation], isDistributed: Bool) {
    self.relations = relations
    self.isDistributed = isDistributed
    order = schema.parentsFirst
  }
}

extension ColumnType {
  /// The type of the elements in which the column's values travel to the server.
  var postgresElement: String {
    switch self {
    case .integer: "bigint"
    case .real: "double precision"
    case .boolean: "boolean"
    case .text, .timestamp, .json, .reference, .position: "text"
    }
  }
}
