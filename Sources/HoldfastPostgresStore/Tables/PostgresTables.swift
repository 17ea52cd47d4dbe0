package import HoldfastCore
import HoldfastService

/// The SQL that creates the server's database in PostgreSQL. Holdfast's own tables are in the schema `holdfast`; the app's tables keep
/// their names. docs/POSTGRES.md, section 1.
package struct PostgresTables {
  package let schema: SyncSchema
  /// The database schema of the app's tables, never `holdfast`; nil for the first one in `search_path`.
  var namespace: String?
  /// The known relations, by table name in the schema.
  package var known: TextMap<String> = [:]
  /// The adopted tables whose ids are of the type `uuid`. A reference to them is, too: a foreign key compares equal types.
  var withUUIDs: TextSet = []

  package init(schema: SyncSchema, namespace: String? = nil, known: TextMap<String> = [:]) {
    (self.schema, self.namespace, self.known) = (schema, namespace, known)
  }

  /// The quoted relation of a table: `"public"."items"`. The built-in tables are in the schema `holdfast`.
  package func relation(of index: Int) -> String {
    let table = schema.tables[index]
    if let relation = known[table.name] { return relation }
    if table.isBuiltIn { return "holdfast.\"\(table.name)\"" }
    return namespace.map { "\(PostgresName.quoted($0)).\"\(table.name)\"" } ?? "\"\(table.name)\""
  }

  /// The first columns and the primary key of a table.
  private static let key = [
    "\"id\" text COLLATE \"C\" PRIMARY KEY DEFAULT holdfast.new_id()",
    "\"zone\" text COLLATE \"C\" NOT NULL",
  ]

  /// Creates one table with its indexes. References are checked at the commit, and may name tables that do not exist yet, so
  /// `references(of:)` adds them later.
  package func create(_ index: Int) -> String {
    let table = schema.tables[index]
    let relation = relation(of: index)
    let lines = Self.key + table.columns.indices.map { column($0, of: index) }
    var sql = "CREATE TABLE \(relation) (\n  \(lines.joined(separator: ",\n  "))\n);\n"
    for link in schema.links(of: index) { sql += self.index(for: link) + ";\n" }
    for (number, group) in table.unique.enumerated() {
      let columns = group.map { ", \"\($0)\"" }.joined()
      let name = PostgresName.made("holdfast", table.name, "unique", String(number))
      sql += "CREATE UNIQUE INDEX \(name) ON \(relation) (\"zone\"\(columns));\n"
    }
    for columns in table.serverIndexes { sql += self.index(columns, of: index) + ";\n" }
    if table.zone == .explicit {
      sql += "CREATE INDEX \"holdfast_members_of_user\" ON \(relation) (\"user\", \"role\");\n"
      sql += "CREATE INDEX \"holdfast_members_of_group\" ON \(relation) (\"group\");\n"
    }
    return sql
  }

  /// The statements that add the foreign keys of a table.
  package func references(of index: Int) -> [String] { schema.links(of: index).map { reference(of: $0) } }

  /// The definition of one column, for CREATE TABLE and ALTER TABLE.
  ///
  /// The check rejects values of PostgreSQL's type that devices cannot read. Limits of the schema may change, so the service checks them.
  package func column(_ column: Int, of index: Int) -> String {
    let table = schema.tables[index]
    let definition = table.columns[column]
    let isUUID = definition.reference.map { withUUIDs.contains($0.table) } ?? false
    var sql = "\"\(definition.name)\" \(isUUID ? "uuid" : definition.type.postgresType)"
    // Texts of the built-in tables are ids and names, which are compared with Holdfast's own tables.
    if table.isBuiltIn, definition.type == .text { sql += " COLLATE \"C\"" }
    if definition.required { sql += " NOT NULL" }
    if let value = definition.defaultValue, value != .null {
      sql += " DEFAULT \(value.postgresLiteral(for: definition.type))"
    }
    if let check = definition.type.postgresCheck(of: "\"\(definition.name)\"") {
      sql += " CHECK (\(check))"
    }
    if let check = definition.builtInCheck(of: table) { sql += " CHECK (\(check))" }
    return sql
  }

  /// The statement that adds the foreign key of a reference.
  ///
  /// - Parameter isChecked: false adds the key as NOT VALID, for a new column that is null in all rows.
  package func reference(of link: SyncSchema.Link, isChecked: Bool = true) -> String {
    let column = schema.tables[link.table].columns[link.column].name
    let action =
      switch link.onDelete {
      case .cascade: "CASCADE"
      case .setNull: "SET NULL"
      case .restrict: "NO ACTION"
      }
    return """
      ALTER TABLE \(relation(of: link.table)) ADD CONSTRAINT \(referenceName(of: link))
        FOREIGN KEY ("\(column)") REFERENCES \(relation(of: link.target)) ("id") ON DELETE \(action)
        DEFERRABLE INITIALLY DEFERRED\(isChecked ? "" : " NOT VALID")
      """
  }

  /// The quoted name of a reference's foreign key.
  func referenceName(of link: SyncSchema.Link) -> String {
    PostgresName.made(
      schema.tables[link.table].name, schema.tables[link.table].columns[link.column].name, "fkey")
  }

  /// The statement that creates the index of a reference, by which the children of a record are found.
  ///
  /// - Parameter concurrently: whether to create it without blocking writers; not possible in a transaction.
  package func index(for link: SyncSchema.Link, concurrently: Bool = false) -> String {
    let column = schema.tables[link.table].columns[link.column].name
    return """
      CREATE INDEX \(concurrently ? "CONCURRENTLY " : "")\(indexName(for: link)) \
      ON \(relation(of: link.table)) ("\(column)")
      """
  }

  /// The quoted name of the index that `index(for:)` creates.
  func indexName(for link: SyncSchema.Link) -> String {
    let table = schema.tables[link.table]
    return PostgresName.made("holdfast", table.name, "of", table.columns[link.column].name)
  }

  /// The statement that creates a declared index or an index of a list, in byte order for any collation of the columns.
  ///
  /// - Parameter concurrently: whether to create it without blocking writers; not possible in a transaction.
  package func index(_ columns: [String], of index: Int, concurrently: Bool = false) -> String {
    let keys = columns.map { name in
      let isText = schema.tables[index].columns.contains { $0.name == name && $0.type == .text }
      return ", \"\(name)\"" + (isText ? " COLLATE \"C\"" : "")
    }
    return """
      CREATE INDEX \(concurrently ? "CONCURRENTLY " : "")\(Self.indexName(columns, of: schema.tables[index].name)) \
      ON \(relation(of: index)) ("zone"\(keys.joined()))
      """
  }

  /// The quoted name of the index that `index(_:of:)` creates.
  static func indexName(_ columns: [String], of table: String) -> String {
    PostgresName.made("holdfast", table, "by", columns.joined(separator: "-"))
  }
}

/// Names and literals in SQL.
package enum PostgresName {
  /// A quoted name.
  package static func quoted(_ name: String) -> String {
    "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
  }

  /// A quoted name from parts. A name beyond PostgreSQL's limit ends with a fingerprint, because truncation could make two names equal.
  package static func made(_ parts: String...) -> String {
    let name = parts.joined(separator: "_")
    if name.utf8.count <= 63 { return quoted(name) }
    return quoted(String(name.prefix(46)) + "_" + Fingerprint(of: name).text)
  }

  /// A text as an SQL literal.
  package static func literal(_ text: String) -> String {
    let text =
      "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
    if !text.contains("\\") { return text }
    return "E" + text.split(separator: "\\", omittingEmptySubsequences: false).joined(separator: "\\\\")
  }
}

extension ColumnType {
  /// The column's type in CREATE TABLE.
  var postgresType: String {
    switch self {
    case .text: "text"
    case .integer: "bigint"
    case .real: "double precision"
    case .boolean: "boolean"
    case .json: "json"
    case .timestamp, .reference, .position: "text COLLATE \"C\""
    }
  }

  /// The check on a value beyond its type; nil for none.
  func postgresCheck(of column: String) -> String? {
    switch self {
    case .real: "\(column) > '-Infinity' AND \(column) < 'Infinity'"
    case .timestamp: "\(column) ~ '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$'"
    case .text, .integer, .boolean, .json, .reference, .position: nil
    }
  }
}

extension Value {
  /// The value as an SQL literal of a column's type.
  func postgresLiteral(for type: ColumnType) -> String {
    switch (self, type) {
    case (.integer(let number), .boolean): number == 1 ? "true" : "false"
    case (.text(let text), _): PostgresName.literal(text)
    default: literal
    }
  }
}
