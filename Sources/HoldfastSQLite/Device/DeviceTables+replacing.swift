import HoldfastCore

/// Records `INSERT OR REPLACE`, and guards against other writes that would bypass the triggers.
///
/// SQLite fires no delete trigger for a row that REPLACE removes, unless `recursive_triggers` is ON, which is off by default. So a trigger
/// saves the row that an INSERT may replace. If it was replaced, the difference is recorded as an update.
extension DeviceTables {
  /// An SQL condition: whether the inserted row replaced another without a delete trigger.
  func isReplaced(_ table: TableSchema) -> String {
    "EXISTS (SELECT 1 FROM holdfast_replaced WHERE record_table = '\(table.name)' AND id = NEW.\"id\")"
  }

  func replaceTriggers(_ table: TableSchema) -> String {
    let name = "'\(table.name)'"
    let isHere = "EXISTS (SELECT 1 FROM \"\(table.name)\" WHERE \"id\" = NEW.\"id\")"
    // What an INSERT OR IGNORE of before has passed over. Only of this record: triggers of the app may insert others meanwhile.
    let clear = "DELETE FROM holdfast_replaced WHERE record_table = \(name) AND id = NEW.\"id\""
    let aside = """
      INSERT INTO holdfast_replaced (record_table, id, column_name, base, rev) SELECT \(name), here."id", names.column1, \
      \(Self.value(of: table, "here")), here."rev" FROM "\(table.name)" AS here CROSS JOIN \(Self.names(of: table)) AS names \
      WHERE here."id" = NEW."id"
      """
    let before = "FROM holdfast_replaced AS names WHERE record_table = \(name) AND id = NEW.\"id\""
    let updates = """
      \(Self.intoEdits) \
      SELECT \(name), NEW."id", 'update', column1, base, coalesce((SELECT rev FROM holdfast_edits WHERE record_table = \(name) \
      AND id = NEW."id" AND column_name = column1 ORDER BY n DESC LIMIT 1), before_rev), \(Self.now) \
      FROM (SELECT column_name AS column1, base, rev AS before_rev \(before)) AS names \
      WHERE column1 <> '' AND base IS NOT \(Self.value(of: table, "NEW"))
      """
    let kept = """
      UPDATE "\(table.name)" SET "zone" = (SELECT base \(before) AND column_name = ''), \
      "rev" = (SELECT rev \(before) AND column_name = '') WHERE "id" = NEW."id"
      """
    // The creator of such a record names its zone, which can't change.
    let isMoved = """
       AND NEW."zone" IS NOT NULL AND EXISTS (SELECT 1 \(before) AND column_name = '' AND base IS NOT NEW."zone")
      """
    return trigger(
      "aside", "BEFORE INSERT", on: table, " AND (\(isHere) OR \(isReplaced(table)))", [clear, aside])
      + trigger("replaced", "AFTER INSERT", on: table, " AND \(isReplaced(table))", [updates, kept])
      + (table.zone == .explicit
        ? trigger(
          "replaced_zone", "AFTER INSERT", on: table, isMoved,
          [refusal("the zone of a record can not change")])
        : "")
      + rowTriggers(table)
  }

  /// The names for the saved values of a deleted row: '' for the row itself, which stores its zone, then its columns. An SQL table with
  /// `column1`.
  static func names(of table: TableSchema) -> String {
    "(VALUES \(([""] + table.columns.map(\.name)).map { "('\($0)')" }.joined(separator: ", ")))"
  }

  /// The value of a row for the name in `names.column1`.
  static func value(of table: TableSchema, _ row: String) -> String {
    let columns = table.columns.map { "WHEN '\($0.name)' THEN \(row).\"\($0.name)\"" }
    return "CASE names.column1 WHEN '' THEN \(row).\"zone\" \(columns.joined(separator: " ")) END"
  }

  /// Guards rowids: a REPLACE by rowid would remove another record without firing a trigger.
  private func rowTriggers(_ table: TableSchema) -> String {
    let names = ["rowid", "oid", "_rowid_"].filter { table.index(of: $0) == nil }
    guard let row = names.first else { return "" }
    let refused = [refusal("row numbers are given by SQLite; leave rowid out")]
    // In a BEFORE INSERT trigger, the rowid is -1 for a row that sets none.
    return trigger(
      "row_taken", "BEFORE INSERT", on: table,
      " AND EXISTS (SELECT 1 FROM \"\(table.name)\" WHERE \(row) = NEW.\(row) AND \"id\" IS NOT NEW.\"id\")",
      refused)
      + trigger("row_negative", "AFTER INSERT", on: table, " AND NEW.\(row) < 0", isCheap: true, refused)
      + trigger(
        "row_changed", "BEFORE UPDATE OF \(names.joined(separator: ", "))", on: table,
        " AND NEW.\(row) IS NOT OLD.\(row)", isCheap: true, refused)
  }

  /// Rejects an id that no message can carry, or that readers could interpret differently.
  func idTrigger(_ table: TableSchema) -> String {
    let isText = """
      typeof(NEW."id") = 'text' AND length(CAST(NEW."id" AS BLOB)) = length(NEW."id") AND length(NEW."id") BETWEEN 1 AND 64 \
      AND NEW."id" NOT GLOB '*[^ -~]*'
      """
    return trigger(
      "id", "AFTER INSERT", on: table, " AND NOT (\(isText))", isCheap: true,
      [refusal("an id is a text of 1 to 64 printable ASCII characters")])
  }

  /// Rejects changes of `zone` and `rev`, which only Holdfast writes. Triggers may set them for a record that was just created or replaced.
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
