import Foundation
import Holdfast
import Testing

/// Compares databases record by record and column by column.
enum Agreement {
  /// What a database holds of the app's tables: for each table its rows in the order of positions and ids.
  static func contents(_ connection: SQLiteConnection, schema: SyncSchema) throws -> [String: [[SQLiteValue]]]
  {
    try contents(schema: schema) { try connection.rows($0) }
  }

  /// The same of any database.
  ///
  /// - Parameter rowsOf: runs a query.
  static func contents(
    schema: SyncSchema, rowsOf: (String) throws -> [[SQLiteValue]]
  ) throws -> [String: [[SQLiteValue]]] {
    var contents: [String: [[SQLiteValue]]] = [:]
    for table in schema.tables where !table.isBuiltIn {
      let columns = (["id", "zone", "rev"] + table.columns.map(\.name)).map { "\"\($0)\"" }.joined(
        separator: ", ")
      let positions = table.columns.filter { $0.type == .position }.map { "\"\($0.name)\"" } + ["\"id\""]
      contents[table.name] = try rowsOf(
        "SELECT \(columns) FROM \"\(table.name)\" ORDER BY \(positions.joined(separator: ", "))")
    }
    return contents
  }

  /// Both integrity checks of SQLite are clean.
  static func expectSound(_ connection: SQLiteConnection) throws {
    #expect(try connection.rows("PRAGMA integrity_check") == [[.text("ok")]])
    #expect(try connection.rows("PRAGMA foreign_key_check").isEmpty)
  }
}
