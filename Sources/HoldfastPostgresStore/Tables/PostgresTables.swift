package import HoldfastCore
import HoldfastService

/// The SQL that makes the server's database in PostgreSQL: Holdfast's own tables in the schema `holdfast`, and the schema's with the same
/// names. docs/POSTGRES.md, section 1, says what is where.
package struct PostgresTables {
  package let schema: SyncSchema
  /// The schema of the database that the app's tables are in; nil for the one that `search_path` names first.
  var namespace: String?
  /// The relations of tables that are known already, by their names in the schema.
  package var known: TextMap<String> = [:]
  /// Whether the tables are distributed by zone.
  package var isDistributed = false

  package init(
    schema: SyncSchema, namespace: String? = nil, known: TextMap<String> = [:], isDistributed: Bool = false
  ) {
    (self.schema, self.namespace, self.known, self.isDistributed) = (schema, namespace, known, isDistributed)
  }

  /// The relation of a table, quoted: `"public"."items"`; the built-in tables are in the schema `holdfast`.
  package func relation(of index: Int) -> String {
    let table = schema.tables[index]
    if let relation = known[table.name] { return relation }
    if table.isBuiltIn { return "holdfast.\"\(table.name)\"" }
    return namespace.map { "\(PostgresName.quoted($0)).\"\(table.name)\"" } ?? "\"\(table.name)\""
  }

  /// The first columns of a table, and its key.
  private static let key = [
    "\"id\" text COLLATE \"C\" PRIMARY KEY DEFAULT holdfast.new_id()",
    "\"zone\" text COLLATE \"C\" NOT NULL",
  ]

  /// One table with its indexes. References are checked at the commit, and may name tables that `create` makes later: they are added by
  /// `references(of:)` when all tables are there.
  package func create(_ index: Int) -> String {
    let table = schema.tables[index]
    let relation = relation(of: index)
    var lines = isDistributed ? Self.shardKey : Self.key
    lines += table.columns.indices.map { column($0, of: index) }
    var sql = "CREATE TABLE \(relation) (\n  \(lines.joined(separator: ",\n  "))\n);\n"
    for link in schema.links(of: index) { sql += self.index(for: link) + ";\n" }
    for (number, group) in table.unique.enumerated() {
      let columns = group.map { ", \"\($0)\"" }.joined()
      let name = PostgresName.made("holdfast", table.name, "unique", String(number))
      sql += "CREATE UNIQUE INDEX \(name) ON \(relation) (\"zone\"\(columns));\n"
    }
    for columns in table.serverIndexes { sql += self.index(columns, of: index) + ";\n" }
    if isDistributed, table.name == TableSchema.conflicts.name {
      sql += "CREATE INDEX conflicts_of_time ON \(relation) (id);\n"
    }
    if table.zone == .explicit {
      sql += "CREATE INDEX \"holdfast_members_of_user\" ON \(relation) (\"user\", \"role\");\n"
      sql += "CREATE INDEX \"holdfast_members_of_group\" ON \(relation) (\"group\");\n"
    }
    return sql
  }

  /// The foreign keys of a table that `create` made.
  package func references(of index: Int) -> String {
    schema.links(of: index).compactMap { reference(of: $0) }.map { $0 + ";\n" }.joined()
  }

  /// The definition of one column, as it stands in CREATE TABLE and in ALTER TABLE.
  ///
  /// What PostgreSQL's type would take and no device could read is checked; limits of the schema are the service's, since they may change.
  /// - Parameter isChecked: false leaves the check out.
  package func column(_ column: Int, of index: Int, isChecked: Bool = true) -> String {
    let table = schema.tables[index]
    let definition = table.columns[column]
    var sql = "\"\(definition.name)\" \(definition.type.postgresType)"
    // Texts of the built-in tables are ids and names, compared with those of Holdfast's own tables.
    if table.isBuiltIn, definition.type == .text { sql += " COLLATE \"C\"" }
    if definition.required { sql += " NOT NULL" }
    if let value = definition.defaultValue, value != .null {
      sql += " DEFAULT \(value.postgresLiteral(for: definition.type))"
    }
    if isChecked, let check = definition.type.postgresCheck(of: "\"\(definition.name)\"") {
      sql += " CHECK (\(check))"
    }
    if isChecked, let check = definition.builtInCheck(of: table) { sql += " CHECK (\(check))" }
    return sql
  }

  /// The statement that adds a reference's foreign key; nil for one without.
  ///
  /// - Parameter isChecked: false leaves the rows that are there unchecked, for a column that was just added and is null in all of them.
  package func reference(of link: SyncSchema.Link, isChecked: Bool = true) -> String? {
    if isDistributed { return shardReference(of: link, isChecked: isChecked) }
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

  /// The name, quoted, of a reference's foreign key.
  func referenceName(of link: SyncSchema.Link) -> String {
    PostgresName.made(
      schema.tables[link.table].name, schema.tables[link.table].columns[link.column].name, "fkey")
  }

  /// The statement that makes the index by which the children of a record are found.
  ///
  /// - Parameter concurrently: without keeping writers out; not inside a transaction.
  package func index(for link: SyncSchema.Link, concurrently: Bool = false) -> String {
    let column = schema.tables[link.table].columns[link.column].name
    return """
      CREATE INDEX \(concurrently ? "CONCURRENTLY " : "")\(indexName(for: link)) \
      ON \(relation(of: link.table)) (\(isDistributed && link.isInZone ? "\"zone\", " : "")"\(column)")
      """
  }

  /// The name, quoted, of the index that `index(for:)` makes.
  func indexName(for link: SyncSchema.Link) -> String {
    let table = schema.tables[link.table]
    return PostgresName.made("holdfast", table.name, "of", table.columns[link.column].name)
  }

  /// The statement that makes an index that is declared or of lists: in the order of bytes, whatever the collation of its columns.
  ///
  /// - Parameter concurrently: without keeping writers out; not inside a transaction.
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

  /// The name, quoted, of the index that `index(_:of:)` makes.
  static func indexName(_ columns: [String], of table: String) -> String {
    PostgresName.made("holdfast", table, "by", columns.joined(separator: "-"))
  }
}

/// Names of the database, as they stand in SQL.
package enum PostgresName {
  /// A name in quotes.
  package static func quoted(_ name: String) -> String {
    "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
  }

  /// A name made of parts, in quotes. One that PostgreSQL would cut, and so might make equal to another, ends with a fingerprint.
  package static func made(_ parts: String...) -> String {
    let name = parts.joined(separator: "_")
    if name.utf8.count <= 63 { return quoted(name) }
    return quoted(String(name.prefix(46)) + "_" + Fingerprint(of: name).text)
  }

  /// A text as a literal.
  package static func literal(_ text: String) -> String {
    let text =
      "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
    if !text.contains("\\") { return text }
    return "E" + text.split(separator: "\\", omittingEmptySubsequences: false).joined(separator: "\\\\")
  }
}

extension ColumnType {
  /// The type of the column in CREATE TABLE.
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

  /// What must hold of a value besides its type; nil for nothing.
  func postgresCheck(of column: String) -> String? {
    switch self {
    case .real: "\(column) > '-Infinity' AND \(column) < 'Infinity'"
    case .timestamp: "\(column) ~ '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$'"
    case .text, .integer, .boolean, .json, .reference, .position: nil
    }
  }
}

extension Value {
  /// The value as a literal of a column's type.
  func postgresLiteral(for type: ColumnType) -> String {
    switch (self, type) {
    case (.integer(let number), .boolean): number == 1 ? "true" : "false"
    case (.text(let text), _): PostgresName.literal(text)
    default: literal
    }
  }
}
