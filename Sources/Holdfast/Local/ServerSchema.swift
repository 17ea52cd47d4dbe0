import HoldfastCore
import HoldfastSQLite

/// What the server says of its schema: docs/SCHEMA-CHANGES.md, sections 2 and 3.
///
/// Not Sendable: belongs to the queue of its database.
final class ServerSchema {
  /// How pages are parsed; one entry a table of the schema.
  private(set) var forms: [PageParser.Form]
  private let connection: SQLiteConnection
  private let schema: SyncSchema
  /// The names that the server told, and the text in which they are kept.
  private var formerNames = FormerNames()
  private var formerNamesText = ""

  init(connection: SQLiteConnection, schema: SyncSchema) {
    self.connection = connection
    self.schema = schema
    forms = schema.tables.map { PageParser.Form($0) }
  }

  /// Keeps what an answer says of the server's schema.
  ///
  /// - Returns: whether it is another than before.
  func keep(_ answer: SyncAnswer) throws -> Bool {
    var isOther = false
    if !answer.schema.isEmpty {
      let text = answer.renamed.isEmpty ? "" : String(decoding: answer.renamed.json.bytes, as: UTF8.self)
      try connection.run(
        "UPDATE holdfast_local SET server_schema = ?1, renamed = ?2 WHERE server_schema <> ?1 OR renamed <> ?2",
        [.text(answer.schema), .text(text)])
      isOther = connection.changes > 0
    }
    try readFormerNames()
    return isOther
  }

  /// Reads by which names the server's tables and columns may come; another process may have heard of others
  /// meanwhile.
  private func readFormerNames() throws {
    let text = try connection.value("SELECT renamed FROM holdfast_local")?.text ?? ""
    if text == formerNamesText { return }
    formerNamesText = text
    formerNames = try text.isEmpty ? FormerNames() : JSONReader.read(text) { try FormerNames(&$0) }
    forms = schema.tables.map { PageParser.Form($0, formerNames) }
  }

  /// Puts the names that this app has into what conflicts say of their table and column.
  func nameConflicts() throws {
    for table in schema.tables {
      let names = formerNames.others(of: table)
      for name in names {
        try connection.run(
          "UPDATE conflicts SET record_table = ? WHERE record_table = ?", [.text(table.name), .text(name)])
      }
      for (name, column) in formerNames.otherColumns(of: table) {
        try connection.run(
          "UPDATE conflicts SET column_name = ? WHERE record_table = ? AND column_name = ?",
          [.text(table.columns[column].name), .text(table.name), .text(name)])
      }
    }
  }
}
