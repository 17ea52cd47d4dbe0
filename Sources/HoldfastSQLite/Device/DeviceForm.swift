package import HoldfastCore
import HoldfastSystem

/// The tables, indexes and triggers that a device's file must have, for comparison with a file.
///
/// Another program may drop a trigger, or rebuild a table as table editors do, which drops its triggers. Edits are then no longer recorded.
package struct DeviceForm: Sendable {
  /// The differences of a file.
  package struct Difference {
    /// The repairing statements, in order.
    package var statements: [String] = []
    /// Whether edits may have been made without a trigger that records them.
    package var hasUnrecordedEdits = false
    /// References to a table that is gone, which another program has renamed before it made the table anew.
    package var renamed: [(table: String, from: String)] = []
    /// A table that was made with something that stops what the server sends, and the word of SQL for it.
    package var altered: (table: String, word: String)?
    /// A table that lacks a column or its key. No statement can restore those values.
    package var lost: (table: String, column: String)?
  }

  private struct Part: Sendable {
    let type: String
    let name: String
    let sql: String
  }

  /// In the order of creation.
  private let parts: [Part]
  private let names: TextMap<String>
  private let columns: [(table: String, names: [String])]

  /// The target of each reference, by table and column.
  private let references: TextMap<TextMap<String>>

  private static let last = Locked<(schema: [UInt8], form: DeviceForm)?>(nil)

  /// The form of a schema. It is cached, because an app opens its file repeatedly with the same schema.
  package static func of(_ schema: SyncSchema) throws -> DeviceForm {
    let text = schema.json.bytes
    if let last = last.withLock({ $0 }), last.schema == text { return last.form }
    let form = try DeviceForm(schema)
    last.withLock { $0 = (text, form) }
    return form
  }

  /// Built with an in-memory database, to get the exact SQL texts that SQLite stores.
  private init(_ schema: SyncSchema) throws {
    let model = try SQLiteConnection(path: ":memory:")
    try model.execute(DeviceTables.own)
    try model.execute(DeviceTables(schema: schema).all())
    parts = try Self.parts(of: model)
    names = TextMap(parts.map { ($0.name, $0.sql) })
    columns = try parts.filter { $0.type == "table" }.map {
      ($0.name, try Self.columns(of: $0.name, on: model))
    }
    references = TextMap(
      try columns.map { table, _ in
        let rows = try model.rows(
          "SELECT \"from\", \"table\" FROM pragma_foreign_key_list(?)", [.text(table)])
        return (table, TextMap(rows.map { ($0[0].text ?? "", $0[1].text ?? "") }))
      })
  }

  /// Compares a file with the form. The SQL of tables is not compared, because added columns change it; only what no such table has.
  package func difference(of connection: SQLiteConnection) throws -> Difference {
    let present = try Self.parts(of: connection)
    let texts = TextMap(present.map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
    var difference = Difference()
    for part in present where part.type == "trigger" {
      guard part.name.hasPrefix("holdfast_"), names[part.name] != part.sql else { continue }
      difference.statements.append("DROP TRIGGER \(SQLiteName.quoted(part.name))")
      difference.hasUnrecordedEdits = true
    }
    for (table, names) in columns where texts[table] != nil {
      let there = try Self.columns(of: table, on: connection)
      if let missing = names.first(where: { !there.contains($0) }) { difference.lost = (table, missing) }
      let words = SQLWords.of(texts[table] ?? "").subtracting(SQLWords.of(self.names[table] ?? ""))
      if let word = Self.unfitWords.first(where: { words.contains($0) }) {
        difference.altered = (table, word)
      }
      for (target, renamed) in try renamedTargets(of: table, on: connection)
      where !difference.renamed.contains(where: { $0.table == target && $0.from == renamed }) {
        difference.renamed.append((target, renamed))
      }
    }
    for part in parts where texts[part.name] != part.sql {
      if part.type == "table", texts[part.name] != nil { continue }
      if part.type == "index", texts[part.name] != nil {
        difference.statements.append("DROP INDEX \(SQLiteName.quoted(part.name))")
      }
      difference.statements.append(part.sql)
      if part.type != "index" { difference.hasUnrecordedEdits = true }
    }
    return difference
  }

  /// What no table of a device is made with, and would refuse rows or skip them, or take their row numbers away.
  private static let unfitWords = ["WITHOUT", "UNIQUE", "CHECK", "CONFLICT"]

  /// The targets of a table's references that have another name in the file, under which there is no table.
  ///
  /// `ALTER TABLE lists RENAME TO old` also renames what refers to it, and a new table of the first name gets none of that back.
  private func renamedTargets(of table: String, on connection: SQLiteConnection) throws -> [(String, String)]
  {
    try connection.rows(
      """
      SELECT "from", "table" FROM pragma_foreign_key_list(?) AS f WHERE NOT EXISTS (SELECT 1 FROM sqlite_schema AS m
      WHERE m.type = 'table' AND m.name = f."table" COLLATE NOCASE)
      """, [.text(table)]
    ).compactMap { row in
      guard let target = references[table]?[row[0].text ?? ""], let renamed = row[1].text, target != renamed
      else { return nil }
      return (target, renamed)
    }
  }

  private static func parts(of connection: SQLiteConnection) throws -> [Part] {
    try connection.rows(
      """
      SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
      ORDER BY CASE type WHEN 'table' THEN 0 WHEN 'index' THEN 1 ELSE 2 END, rowid
      """
    ).map {
      Part(type: $0[0].text ?? "", name: $0[1].text ?? "", sql: $0[2].text ?? "")
    }
  }

  /// The columns of a table; those of the primary key are marked.
  private static func columns(of table: String, on connection: SQLiteConnection) throws -> [String] {
    let rows = try connection.rows("SELECT name, pk FROM pragma_table_info(?)", [.text(table)])
    return rows.map { "\($0[0].text ?? "")\($0[1].integer == 0 ? "" : " (primary key)")" }
  }
}
