import HoldfastCore

/// `INSERT OR REPLACE`, and what else of another program could pass the triggers by.
///
/// SQLite fires no delete trigger for a row that REPLACE removes, unless `recursive_triggers` is ON, which is no program's default. So what an
/// INSERT may replace is set aside before it. Where it was replaced without a word, the row has got other values, and these are recorded as an update.
extension DeviceTables {
  /// Whether the row that was just inserted took the place of one that no trigger saw go; a condition of SQL.
  func isReplaced(_ table: TableSchema) -> String {
    "EXISTS (SELECT 1 FROM holdfast_replaced WHERE record_table = '\(table.name)' AND id = NEW.\"id\")"
  }

  func replaceTriggers(_ table: TableSchema) -> String {
    let name = "'\(table.name)'"
    let isHere = "EXISTS (SELECT 1 FROM \"\(table.name)\" WHERE \"id\" = NEW.\"id\")"
    let clear = "DELETE FROM holdfast_replaced"
    let aside = """
      INSERT INTO holdfast_replaced (record_table, id, column_name, base, rev) SELECT \(name), here."id", names.column1, \
      \(Self.value(of: table, "here")), here."rev" FROM "\(table.name)" AS here CROSS JOIN \(Self.names(of: table)) AS names \
      WHERE here."id" = NEW."id"
      """
    let before = "FROM holdfast_replaced AS names WHERE record_table = \(name) AND id = NEW.\"id\""
    let updates = """
      INSERT INTO holdfast_edits (record_table, id, kind, column_name, base, rev, at) \
      SELECT \(name), NEW."id", 'update', column1, base, coalesce((SELECT rev FROM holdfast_edits WHERE record_table = \(name) \
      AND id = NEW."id" AND column_name = column1 ORDER BY n DESC LIMIT 1), before_rev), \(Self.now) \
      FROM (SELECT column_name AS column1, base, rev AS before_rev \(before)) AS names \
      WHERE column1 <> '' AND base IS NOT \(Self.value(of: table, "NEW"))
      """
    let kept = """
      UPDATE "\(table.name)" SET "zone" = (SELECT base \(before) AND column_name = ''), \
      "rev" = (SELECT rev \(before) AND column_name = '') WHERE "id" = NEW."id"
      """
    // The zone of such a record is said by who makes it, and stays.
    let isMoved = """
       AND NEW."zone" IS NOT NULL AND EXISTS (SELECT 1 \(before) AND column_name = '' AND base IS NOT NEW."zone")
      """
    return trigger(
      "replaced_none", "BEFORE INSERT", on: table,
      " AND EXISTS (SELECT 1 FROM holdfast_replaced) AND NOT \(isHere)", [clear])
      + trigger("replaced_some", "BEFORE INSERT", on: table, " AND \(isHere)", [clear, aside])
      + trigger("replaced", "AFTER INSERT", on: table, " AND \(isReplaced(table))", [updates, kept])
      + (table.zone == .explicit
        ? trigger(
          "replaced_zone", "AFTER INSERT", on: table, isMoved,
          [refusal("the zone of a record can not change")])
        : "")
      + rowTriggers(table)
  }

  /// The names of what is kept of a deleted row: first of the row, where its zone stands, then of its columns; a table of SQL with `column1`.
  static func names(of table: TableSchema) -> String {
    "(VALUES \(([""] + table.columns.map(\.name)).map { "('\($0)')" }.joined(separator: ", ")))"
  }

  /// The value of a row that `names.column1` names.
  static func value(of table: TableSchema, _ row: String) -> String {
    let columns = table.columns.map { "WHEN '\($0.name)' THEN \(row).\"\($0.name)\"" }
    return "CASE names.column1 WHEN '' THEN \(row).\"zone\" \(columns.joined(separator: " ")) END"
  }

  /// SQLite's own row numbers: a REPLACE by way of one would remove another record, of which no trigger hears.
  private func rowTriggers(_ table: TableSchema) -> String {
    let names = ["rowid", "oid", "_rowid_"].filter { table.index(of: $0) == nil }
    guard let row = names.first else { return "" }
    let refused = [refusal("row numbers are given by SQLite; leave rowid out")]
    // Before the insertion, -1 is the number of a row that gives none.
    return trigger(
      "row_taken", "BEFORE INSERT", on: table,
      " AND EXISTS (SELECT 1 FROM \"\(table.name)\" WHERE \(row) = NEW.\(row) AND \"id\" IS NOT NEW.\"id\")",
      refused)
      + trigger("row_negative", "AFTER INSERT", on: table, " AND NEW.\(row) < 0", refused)
      + trigger(
        "row_changed", "BEFORE UPDATE OF \(names.joined(separator: ", "))", on: table,
        " AND NEW.\(row) IS NOT OLD.\(row)", refused)
  }

  /// An id that no message could carry, or that is not the same to every reader.
  func idTrigger(_ table: TableSchema) -> String {
    let isText = """
      typeof(NEW."id") = 'text' AND length(CAST(NEW."id" AS BLOB)) = length(NEW."id") AND length(NEW."id") BETWEEN 1 AND 64 \
      AND NEW."id" NOT GLOB '*[^ -~]*'
      """
    return trigger(
      "id", "AFTER INSERT", on: table, " AND NOT (\(isText))",
      [refusal("an id is a text of 1 to 64 printable ASCII characters")])
  }

  /// What Holdfast keeps in a record's own row, and nobody else changes: but what a trigger gives to a record that was just created or replaced.
  func keptTrigger(_ table: TableSchema) -> String {
    let isNew = """
      NEW."rev" = 0 AND (NEW."zone" IS OLD."zone" OR NEW."zone" IS \(zone(of: table))) AND EXISTS (SELECT 1 FROM holdfast_edits \
      WHERE record_table = '\(table.name)' AND id = NEW."id" AND column_name = '' AND kind = 'create' AND change_set IS NULL)
      """
    let isReplaced = """
      EXISTS (SELECT 1 FROM holdfast_replaced WHERE record_table = '\(table.name)' AND id = NEW."id" AND column_name = '' \
      AND base IS NEW."zone" AND rev IS NEW."rev")
      """
    return trigger(
      "kept", "BEFORE UPDATE OF \"zone\", \"rev\"", on: table,
      " AND (NEW.\"zone\" IS NOT OLD.\"zone\" OR NEW.\"rev\" IS NOT OLD.\"rev\") AND NOT (\(isNew)) AND NOT \(isReplaced)",
      [refusal("zone and rev are written by Holdfast alone")])
  }
}
