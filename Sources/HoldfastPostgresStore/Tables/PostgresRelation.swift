package import HoldfastCore
import HoldfastService

/// A table of the schema in the database. Triggers and the store's statements are generated from it.
package struct PostgresRelation: Sendable, Hashable {
  /// The quoted and qualified name: `"public"."items"`.
  let relation: String
  /// Whether the table was the team's before adoption. It then has no column `zone`, and is never altered.
  let isAdopted: Bool
  /// The column of the record's id.
  let id: PostgresColumn
  /// One entry per column of the table in the schema, by index.
  let columns: [PostgresColumn]
  /// Whether a trigger of the team may change a row before it is written.
  var isRewritten = false

  /// Whether the table has a column `zone`.
  var hasZone: Bool { !isAdopted }

  /// The default of an id in tables that Holdfast creates.
  static let newID = "holdfast.new_id()"

  /// The tables of a schema, all created by Holdfast.
  ///
  /// - Parameter namespace: the database schema of the tables; nil for the first one in `search_path`.
  static func own(_ schema: SyncSchema, namespace: String?) -> [PostgresRelation] {
    let tables = PostgresTables(schema: schema, namespace: namespace)
    return schema.tables.enumerated().map { index, table in
      .own(table, relation: tables.relation(of: index))
    }
  }

  /// A table that Holdfast creates.
  static func own(_ table: TableSchema, relation: String) -> PostgresRelation {
    PostgresRelation(
      relation: relation, isAdopted: false,
      id: PostgresColumn(
        name: "id", kind: .text, type: "text", collation: PostgresColumn.byteCollation,
        defaultExpression: newID, isRequired: true),
      columns: table.columns.map { .own($0, isBuiltIn: table.isBuiltIn) })
  }
}

extension PostgresColumn {
  /// A column of a table that Holdfast creates.
  package static func own(_ column: ColumnSchema, isBuiltIn: Bool) -> PostgresColumn {
    let (kind, type): (Kind, String) =
      switch column.type {
      case .text, .timestamp, .reference, .position: (.text, "text")
      case .integer: (.bigint, "bigint")
      case .real: (.double, "double precision")
      case .boolean: (.boolean, "boolean")
      case .json: (.json, "json")
      }
    let isPlain = column.type == .text && !isBuiltIn
    return PostgresColumn(
      name: column.name, kind: kind, type: type,
      collation: kind == .text ? (isPlain ? "\"default\"" : byteCollation) : nil, isRequired: column.required)
  }
}

extension PostgresLayout {
  /// The layout of tables with these relations.
  package init(_ schema: SyncSchema, _ relations: [PostgresRelation]) {
    self.init(
      schema,
      relations: zip(schema.tables, relations).map { table, relation in
        Relation(
          table: table.name, name: relation.relation, hasZone: relation.hasZone,
          idType: relation.id.kind == .text ? "text" : relation.id.type, idCollation: relation.id.collation,
          isRewritten: relation.isRewritten, parent: table.parentColumn,
          columns: zip(table.columns, relation.columns).map { column, place in
            // A null that the column accepts is stored as null.
            PostgresLayout.Column(
              name: place.quoted, read: place.read("t"), cast: place.cast,
              filling: relation.isAdopted && place.isRequired ? place.defaultExpression : nil,
              type: column.type)
          })
      })
  }
}

extension TableSchema {
  /// The column of the reference that decides the zone, by index; nil for another zone rule.
  var parentColumn: Int? {
    guard case .parent(let name) = zone else { return nil }
    return index(of: name)
  }
}
