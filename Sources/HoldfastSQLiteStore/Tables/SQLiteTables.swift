import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// The SQL that creates the server's database: Holdfast's own tables, and the schema's tables under the same names.
///
/// Records are clustered by (zone, seq), so that the changes of a zone are one range of each table.
struct SQLiteTables {
  /// Stored as `PRAGMA application_id`: "HfSv".
  static let applicationID: Int64 = 0x4866_5376
  /// Stored as `PRAGMA user_version`: the version of Holdfast's own tables.
  static let formatVersion: Int64 = 1

  let schema: SyncSchema

  /// Creates one table with its indexes.
  func create(_ index: Int) -> String {
    let table = schema.tables[index]
    var lines = [
      "\"id\" TEXT NOT NULL", "\"zone\" TEXT NOT NULL",
      "\"seq\" INTEGER NOT NULL CHECK (\"seq\" BETWEEN 1 AND \(greatestCount))",
      "\"rev\" INTEGER NOT NULL CHECK (\"rev\" BETWEEN 1 AND \(greatestCount))",
      "\"stamps\" TEXT NOT NULL",
    ]
    for column in table.columns.indices { lines.append(self.column(column, of: index)) }
    lines.append("PRIMARY KEY (\"zone\", \"seq\")")
    return "CREATE TABLE \"\(table.name)\" (\(lines.joined(separator: ", "))) WITHOUT ROWID, STRICT;\n"
      + indexes(of: index)
  }

  /// Creates all indexes of one table.
  func indexes(of index: Int) -> String {
    let table = schema.tables[index]
    var sql = "CREATE UNIQUE INDEX \"holdfast_\(table.name)_id\" ON \"\(table.name)\" (\"id\");\n"
    for link in schema.links(of: index) { sql += link.index(in: schema) }
    // Not a UNIQUE index: SQLite would check it at each row. The service checks complete change sets, and is the only writer.
    for (number, group) in table.unique.enumerated() {
      let columns = group.map { ", \"\($0)\"" }.joined()
      sql += """
        CREATE INDEX \(Self.uniqueIndex(number, of: table.name)) ON "\(table.name)" ("zone"\(columns));

        """
    }
    for columns in table.serverIndexes { sql += self.index(columns, of: index) }
    if table.zone == .explicit {
      sql += "CREATE INDEX \"holdfast_members_of_user\" ON \"\(table.name)\" (\"user\", \"role\");\n"
      sql += "CREATE INDEX \"holdfast_members_of_group\" ON \"\(table.name)\" (\"group\");\n"
    }
    return sql
  }

  /// Creates a declared index or an index of a list, if it does not exist.
  func index(_ columns: [String], of index: Int) -> String {
    let name = schema.tables[index].name
    let keys = columns.map { ", \"\($0)\"" }.joined()
    return
      "CREATE INDEX IF NOT EXISTS \(Self.indexName(columns, of: name)) ON \"\(name)\" (\"zone\"\(keys));\n"
  }

  /// The quoted name of the index of a unique group. Look-ups in a zone name it explicitly. Without statistics, SQLite would choose the
  /// primary key and read the whole zone.
  static func uniqueIndex(_ number: Int, of table: String) -> String {
    "\"holdfast_\(table)_unique_\(number)\""
  }

  /// The table `members`, with its index by zone and user.
  static let membersByUser = "members INDEXED BY \(uniqueIndex(0, of: TableSchema.members.name))"

  /// The quoted name of the index that `index(_:of:)` creates.
  static func indexName(_ columns: [String], of table: String) -> String {
    "\"holdfast_\(table)_by_\(columns.joined(separator: "-"))\""
  }

  /// The definition of one column, for CREATE TABLE and ALTER TABLE.
  func column(_ column: Int, of index: Int) -> String {
    let definition = schema.tables[index].columns[column]
    var sql = "\"\(definition.name)\" \(definition.type.affinity)"
    if definition.required { sql += " NOT NULL" }
    if let value = definition.defaultValue, value != .null { sql += " DEFAULT \(value.literal)" }
    if let check = definition.builtInCheck(of: schema.tables[index]) { sql += " CHECK (\(check))" }
    if definition.type == .json {
      sql += " CHECK (\"\(definition.name)\" IS NULL OR json_valid(\"\(definition.name)\"))"
    }
    if let reference = definition.reference {
      sql += " REFERENCES \"\(reference.table)\" (\"id\") DEFERRABLE INITIALLY DEFERRED"
    }
    return sql
  }
}
