import HoldfastCore
import HoldfastSQLite

/// What the app and other programs have made in the file: tables, triggers, indexes. Most of it is theirs alone. What would stop or change what the
/// server sends is refused by its name. See RECORDS.md, "What the app makes itself".
struct ForeignObjects {
  /// What was found, and stays.
  struct Found {
    /// Whether a table that is not the schema's, or a column, refers to records.
    var referToRecords = false
    /// The triggers that run for what the server sends.
    var triggers: TextSet = []

    /// What a person is told when a constraint has failed for what the server sends; nil without such triggers, as it is then none of theirs.
    func failure(_ error: SQLiteError) -> StoreError? {
      if triggers.isEmpty { return nil }
      return StoreError(
        .foreignObject,
        "A trigger in this file that is not Holdfast's fails for what the server sends, and so nothing is received: \(triggers.sorted().joined(separator: ", ")). Drop it, or mend what it writes. \(error)"
      )
    }
  }

  let connection: SQLiteConnection
  let schema: SyncSchema

  /// Looks for them. Takes nothing but a look at the catalog where nobody has added anything.
  ///
  /// - Throws: `StoreError.foreignObject`.
  func check() throws -> Found {
    var found = Found()
    try checkIndexes()
    found.referToRecords = try haveReferences()
    found.triggers = try checkTriggers(found.referToRecords)
    return found
  }

  // MARK: Indexes

  private func checkIndexes() throws {
    for table in schema.tables {
      for row in try connection.rows(
        "SELECT name FROM pragma_index_list(?) WHERE \"unique\" = 1 AND origin = 'c'", [.text(table.name)])
      {
        let name = row[0].text ?? ""
        throw StoreError(
          .foreignObject,
          "The unique index \(name) would refuse records of other devices. Drop it: DROP INDEX \(SQLiteName.quoted(name)). Name its columns in `unique` of \(table.name) in the schema, or make an index that is not unique."
        )
      }
    }
  }

  // MARK: Triggers

  /// - Parameter referToRecords: whether there are tables whose references may be wrong.
  /// - Returns: the triggers that run for records.
  private func checkTriggers(_ referToRecords: Bool) throws -> TextSet {
    let texts = TextMap(
      try connection.rows(
        """
        SELECT name, sql, tbl_name FROM sqlite_schema WHERE type = 'trigger' AND name NOT LIKE 'holdfast\\_%' ESCAPE '\\'
        """
      ).map { ($0[0].text ?? "", (sql: $0[1].text ?? "", table: $0[2].text ?? "")) })
    let indexes = try connection.rows(
      """
      SELECT name, tbl_name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL
      AND name NOT LIKE 'holdfast\\_%' ESCAPE '\\'
      """
    ).map { (name: $0[0].text ?? "", table: $0[1].text ?? "") }.filter { schema.table($0.table) != nil }
    if texts.isEmpty, indexes.isEmpty, !referToRecords { return [] }
    for (name, trigger) in texts where isOwn(trigger.table) {
      throw refusal(of: name, "is on a table of Holdfast's own")
    }
    var found: TextSet = []
    for table in schema.tables {
      let names = (["id", "zone", "rev"] + table.columns.map(\.name)).map { "\"\($0)\"" }
      let marks = names.map { _ in "?" }.joined(separator: ", ")
      for statement in [
        "INSERT INTO \"\(table.name)\" (\(names.joined(separator: ", "))) VALUES (\(marks))",
        "UPDATE \"\(table.name)\" SET \(names.map { "\($0) = ?" }.joined(separator: ", "))",
        "DELETE FROM \"\(table.name)\"",
      ] {
        let run: TextMap<TextSet>
        do { run = try connection.triggers(runBy: statement) } catch {
          guard error.code.primary == .error else { throw error }
          let suspects = texts.map { $0.key } + indexes.map { $0.name }
          throw StoreError(
            .foreignObject,
            "Nothing can be written to \(table.name) here, as SQLite says: \(error.message). Something that is not Holdfast's is in the way. Drop what names that: \(suspects.sorted().joined(separator: ", "))."
          )
        }
        for (name, written) in run where texts[name] != nil {
          if let table = written.sorted().first(where: { schema.table($0) != nil || isOwn($0) }) {
            throw refusal(
              of: name,
              "writes \(table), and what it writes while an answer of the server is applied is never sent")
          }
          if SQLWords.of(texts[name]?.sql ?? "").contains("RAISE") {
            throw refusal(of: name, "raises an error, which would refuse records of other devices")
          }
          found.insert(name)
        }
      }
    }
    return found
  }

  private func isOwn(_ table: String) -> Bool { table.utf8.starts(with: "holdfast_".utf8) }

  private func refusal(of trigger: String, _ reason: String) -> StoreError {
    StoreError(
      .foreignObject, "The trigger \(trigger) \(reason). Drop it: DROP TRIGGER \(SQLiteName.quoted(trigger))."
    )
  }

  // MARK: References

  /// Whether foreign keys that the schema does not have lead to its tables.
  private func haveReferences() throws -> Bool {
    for row in try connection.rows(
      """
      SELECT m.name, f."from", f."table" FROM sqlite_schema AS m, pragma_foreign_key_list(m.name) AS f
      WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%'
      """)
    {
      let (name, column) = (row[0].text ?? "", row[1].text ?? "")
      guard isRecords(row[2].text ?? "") else { continue }
      if schema.table(name)?.index(of: column) == nil { return true }
    }
    return false
  }

  /// SQLite finds tables without regard to the case of ASCII letters.
  private func isRecords(_ name: String) -> Bool {
    schema.tables.contains { $0.name.lowercased() == name.lowercased() }
  }
}
