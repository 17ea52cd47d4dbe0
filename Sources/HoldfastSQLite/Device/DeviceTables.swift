package import HoldfastCore

/// The SQL that creates a device's database: Holdfast's own tables, the schema's tables, and the triggers that record edits.
///
/// The server creates snapshots with it, which a device opens as its own database. The triggers are plain SQL, so they also record writes
/// by another SQLite library or the sqlite3 shell.
package struct DeviceTables {
  /// Stored as `PRAGMA application_id`: "HfDv".
  package static let applicationID: Int64 = 0x4866_4476
  /// Stored as `PRAGMA user_version`: the version of Holdfast's own tables.
  package static let formatVersion: Int64 = 1

  let schema: SyncSchema
  private let groups: [CascadeGroup?]

  /// Creates the SQL for a schema.
  package init(schema: SyncSchema) { (self.schema, groups) = (schema, CascadeGroup.all(in: schema)) }

  /// Holdfast's own tables.
  package static let own = """
    CREATE TABLE holdfast_local (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      replica TEXT NOT NULL,
      applying INTEGER NOT NULL DEFAULT 0,
      clock INTEGER NOT NULL DEFAULT 0,
      device TEXT, user TEXT, name TEXT, token TEXT, session INTEGER NOT NULL DEFAULT 0,
      confirmed INTEGER NOT NULL DEFAULT 0,
      confirmed_chain TEXT NOT NULL DEFAULT '0000000000000000',
      resend INTEGER NOT NULL DEFAULT 0,
      last_server_clock INTEGER NOT NULL DEFAULT 0,
      proof TEXT NOT NULL DEFAULT '',
      last_undo INTEGER NOT NULL DEFAULT 0,
      schema TEXT NOT NULL,
      server_schema TEXT NOT NULL DEFAULT '',
      renamed TEXT NOT NULL DEFAULT ''
    );
    CREATE TABLE holdfast_push_token (one INTEGER PRIMARY KEY CHECK (one = 1), kind TEXT NOT NULL, token TEXT);
    CREATE TABLE holdfast_edits (
      n INTEGER PRIMARY KEY,
      change_set INTEGER,
      record_table TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, column_name TEXT NOT NULL,
      base, rev INTEGER NOT NULL, at INTEGER NOT NULL
    );
    CREATE INDEX holdfast_edits_of_column ON holdfast_edits (record_table, id, column_name);
    CREATE TABLE holdfast_outbox (
      first INTEGER PRIMARY KEY, last INTEGER NOT NULL,
      chain_before TEXT NOT NULL, chain TEXT NOT NULL, clock INTEGER NOT NULL,
      undo INTEGER NOT NULL, at INTEGER NOT NULL, undoes INTEGER,
      body BLOB NOT NULL, changes BLOB, moved_zone TEXT, moved_to TEXT, origin TEXT
    );
    CREATE TABLE holdfast_quarantine (
      n INTEGER PRIMARY KEY AUTOINCREMENT,
      at INTEGER NOT NULL, operation INTEGER NOT NULL, problem TEXT NOT NULL, body BLOB NOT NULL,
      because INTEGER, deleted INTEGER NOT NULL DEFAULT 0, origin TEXT
    );
    CREATE TABLE holdfast_carried (origin TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE holdfast_zones (
      zone TEXT PRIMARY KEY, role TEXT NOT NULL DEFAULT '',
      token TEXT NOT NULL DEFAULT '', ack TEXT DEFAULT '',
      sent INTEGER NOT NULL DEFAULT 0, resync TEXT NOT NULL DEFAULT '',
      proof TEXT NOT NULL DEFAULT '', claimed_role TEXT NOT NULL DEFAULT ''
    );
    CREATE TABLE holdfast_pages (
      n INTEGER PRIMARY KEY AUTOINCREMENT, zone TEXT NOT NULL, file TEXT NOT NULL
    );
    CREATE INDEX holdfast_pages_of_zone ON holdfast_pages (zone, n);
    CREATE TABLE holdfast_undo (
      n INTEGER PRIMARY KEY, at INTEGER NOT NULL, undoes INTEGER, changes BLOB NOT NULL
    );
    \(returning)
    \(inside)
    CREATE TABLE holdfast_resets (
      zone TEXT PRIMARY KEY, at INTEGER NOT NULL, count INTEGER NOT NULL, until INTEGER
    ) WITHOUT ROWID;
    \(ownTriggers)
    """

  /// The records to recover on a restored server, the zones that it requested, and the change sets that are confirmed but not yet applied.
  private static let returning = """
    CREATE TABLE holdfast_recovered (
      n INTEGER PRIMARY KEY AUTOINCREMENT, record_table TEXT NOT NULL, id TEXT NOT NULL, zone TEXT NOT NULL,
      deleted INTEGER NOT NULL, body BLOB NOT NULL, arrived_in TEXT, again INTEGER NOT NULL DEFAULT 0,
      UNIQUE (record_table, id)
    );
    CREATE TABLE holdfast_deleted (
      record_table TEXT NOT NULL, id TEXT NOT NULL, zone TEXT NOT NULL, rev INTEGER NOT NULL, at INTEGER NOT NULL,
      PRIMARY KEY (record_table, id)
    ) WITHOUT ROWID;
    CREATE TABLE holdfast_awaiting_recovery (
      zone TEXT PRIMARY KEY, until INTEGER NOT NULL, is_unknown INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    CREATE TABLE holdfast_recovery_claims (zone TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE holdfast_unapplied (n INTEGER PRIMARY KEY, first INTEGER NOT NULL, body BLOB NOT NULL);
    """

  /// Takes the clock and the number of the last transaction over from a change set that leaves the outbox: until then its row has them, so that a local
  /// write need not touch `holdfast_local`.
  package static let ownTriggers = """
    CREATE TRIGGER holdfast_outbox_leave BEFORE DELETE ON holdfast_outbox BEGIN
      UPDATE holdfast_local SET clock = max(clock, OLD.clock), last_undo = max(last_undo, OLD.undo)
      WHERE clock < OLD.clock OR last_undo < OLD.undo;
    END;
    """

  /// The rows that an INSERT may replace, and the records that a cascade deletes together. Both tables are empty between transactions.
  private static let inside = """
    CREATE TABLE holdfast_replaced (
      record_table TEXT NOT NULL, id TEXT NOT NULL, column_name TEXT NOT NULL, base, rev INTEGER NOT NULL,
      PRIMARY KEY (record_table, id, column_name)
    ) WITHOUT ROWID;
    CREATE TABLE holdfast_cascaded (
      root TEXT NOT NULL, record_table TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (root, record_table, id)
    ) WITHOUT ROWID;
    CREATE INDEX holdfast_cascaded_of_record ON holdfast_cascaded (record_table, id);
    """

  /// The wall clock in milliseconds, in SQL.
  package static let now = "CAST((julianday('now') - 2440587.5) * 86400000 + 0.5 AS INTEGER)"
  /// A UUIDv7 generated in SQL, for inserts without an id.
  private static let newID = """
    (printf('%08x-%04x-7%03x-%04x-%012x', \(now) >> 16, \(now) & 65535, random() & 4095, \
    32768 | (random() & 16383), random() & 281474976710655))
    """
  /// The beginning of each statement that records edits.
  static let intoEdits =
    "INSERT INTO holdfast_edits (record_table, id, kind, column_name, base, rev, at)"
  /// An SQL condition on `holdfast_edits`: an edit that is in no change set yet. These are the last ones: edits get ascending numbers, and whatever writes
  /// an edit of a change set has all others sealed before, or brings them to the end. `Mending` sees to it at each opening.
  package static let isLoose = """
    n > coalesce((SELECT n FROM holdfast_edits WHERE change_set IS NOT NULL ORDER BY n DESC LIMIT 1), 0)
    """
  private static let isLocal = "(SELECT applying FROM holdfast_local) <> 1"
  /// The value of `holdfast_local.applying` during a transaction of the app. The library then checks unique values itself, at its end.
  package static let deferring: Int64 = 2

  /// The tables and triggers of the whole schema.
  package func all() -> String { schema.tables.indices.map { table($0) + triggers($0) }.joined() }

  /// A table with its indexes.
  package func table(_ index: Int) -> String {
    let table = schema.tables[index]
    var lines = [
      "\"id\" TEXT NOT NULL PRIMARY KEY DEFAULT \(Self.newID)", "\"zone\" TEXT",
      "\"rev\" INTEGER NOT NULL DEFAULT 0",
    ]
    for column in table.columns.indices { lines.append(self.column(column, of: index)) }
    return "CREATE TABLE \"\(table.name)\" (\(lines.joined(separator: ", ")));\n" + indexes(index)
  }

  /// The indexes of a table.
  package func indexes(_ index: Int) -> String {
    let table = schema.tables[index]
    var sql = ""
    for link in schema.links(of: index) { sql += link.index(in: schema) }
    for (number, group) in table.unique.enumerated() {
      let columns = group.map { "\"\($0)\"" }.joined(separator: ", ")
      sql += "CREATE INDEX \"holdfast_\(table.name)_unique_\(number)\" ON \"\(table.name)\" (\(columns));\n"
    }
    return sql
  }

  /// The definition of a column, for CREATE TABLE and ALTER TABLE.
  package func column(_ column: Int, of index: Int) -> String {
    let definition = schema.tables[index].columns[column]
    var sql = "\"\(definition.name)\" \(definition.type.affinity)"
    if definition.required { sql += " NOT NULL" }
    if let value = definition.defaultValue, value != .null { sql += " DEFAULT \(value.literal)" }
    if let link = schema.links(of: index).first(where: { $0.column == column }), link.isInZone {
      sql += " REFERENCES \"\(schema.tables[link.target].name)\" (\"id\") DEFERRABLE INITIALLY DEFERRED"
    }
    return sql
  }

  /// The triggers of a table. They record edits, and enforce the schema's rules for local writes.
  package func triggers(_ index: Int) -> String {
    let table = schema.tables[index]
    if table.zone == .server { return guards(table) + updateTrigger(table, "resolution") }
    return createTrigger(table) + updateTriggers(table) + deleteTriggers(index) + uniqueTriggers(table)
  }

  private func createTrigger(_ table: TableSchema) -> String {
    let zone = table.zone == .explicit ? "" : "\"zone\" = \(zone(of: table)), "
    return replaceTriggers(table) + idTrigger(table)
      + trigger(
        "create", "AFTER INSERT", on: table, " AND NOT \(isReplaced(table))",
        [
          // First, because the trigger `kept` permits the second only after it.
          edits("('\(table.name)', NEW.\"id\", 'create', '', NULL, 0, \(Self.now))"),
          "UPDATE \"\(table.name)\" SET \(zone)\"rev\" = 0 WHERE \"id\" = NEW.\"id\"",
        ])
  }

  private func updateTriggers(_ table: TableSchema) -> String {
    trigger(
      "identity", "BEFORE UPDATE OF \"id\"", on: table, " AND NEW.\"id\" IS NOT OLD.\"id\"",
      isCheap: true, [refusal("the id of a record can not change")])
      + keptTrigger(table) + table.columns.map { updateTrigger(table, $0.name) }.joined()
  }

  private func updateTrigger(_ table: TableSchema, _ name: String) -> String {
    // A trigger of the app may update a row that is being replaced, before what was there is put down as its base.
    let update = """
      \(Self.intoEdits) \
      SELECT '\(table.name)', NEW."id", 'update', '\(name)', CASE WHEN before.id IS NULL THEN OLD."\(name)" ELSE before.base END, \
      coalesce((SELECT rev FROM holdfast_edits WHERE record_table = '\(table.name)' AND id = NEW."id" \
      AND column_name = '\(name)' ORDER BY n DESC LIMIT 1), before.rev, NEW."rev"), \(Self.now) \
      FROM (SELECT 1) LEFT JOIN holdfast_replaced AS before ON before.record_table = '\(table.name)' \
      AND before.id = NEW."id" AND before.column_name = '\(name)' AND (before.rev IS NOT NEW."rev" OR NEW."zone" IS NULL)
      """
    return trigger(
      "update_\(name)", "AFTER UPDATE OF \"\(name)\"", on: table,
      " AND NEW.\"\(name)\" IS NOT OLD.\"\(name)\"", isCheap: true, [update])
  }

  /// The permitted writes to `conflicts`: resolving a conflict, once.
  private func guards(_ table: TableSchema) -> String {
    let refused = [refusal("\(table.name) is written by the server; people write resolution, once")]
    let others = ["id", "zone", "rev"] + table.columns.map(\.name).filter { $0 != "resolution" }
    let isChoice = """
      OLD."resolution" IS NULL AND coalesce(NEW."resolution" IN ('winner', 'loser', 'other'), 0)
      \(others.map { " AND NEW.\"\($0)\" IS OLD.\"\($0)\"" }.joined())
      """
    return trigger("guard_insert", "BEFORE INSERT", on: table, "", refused)
      + trigger("guard_update", "BEFORE UPDATE", on: table, " AND NOT (\(isChoice))", refused)
      + trigger("guard_delete", "BEFORE DELETE", on: table, "", refused)
  }

  private func deleteTriggers(_ index: Int) -> String {
    let table = schema.tables[index]
    let group = groups[index]
    // The first deletion of a group records all of it itself, so the triggers of these rows do nothing.
    let isFirst =
      groups.contains { $0?.contains(index) == true }
      ? " AND NOT \(CascadeGroup.isCascaded(table.name, "OLD.\"id\""))" : ""
    var rows = ["('\(table.name)', OLD.\"id\", 'delete', '', OLD.\"zone\", OLD.\"rev\", \(Self.now))"]
    for column in table.columns {
      rows.append(
        "('\(table.name)', OLD.\"id\", 'delete', '\(column.name)', OLD.\"\(column.name)\", OLD.\"rev\", \(Self.now))"
      )
    }
    var actions = [
      "DELETE FROM holdfast_replaced WHERE record_table = '\(table.name)' AND id = OLD.\"id\"",
      edits(rows.joined(separator: ", ")),
    ]
    if let group { actions += group.actions(refusal: refusal) }
    var guards = ""
    for link in schema.links(to: index) where link.isInZone {
      let (child, column) = (
        schema.tables[link.table].name, schema.tables[link.table].columns[link.column].name
      )
      switch link.onDelete {
      case .cascade where group == nil:
        actions.append("DELETE FROM \"\(child)\" WHERE \"\(column)\" = OLD.\"id\"")
      case .setNull where group == nil:
        actions.append("UPDATE \"\(child)\" SET \"\(column)\" = NULL WHERE \"\(column)\" = OLD.\"id\"")
      case .restrict where group == nil:
        guards += trigger(
          "restrict_\(child)_\(column)", "BEFORE DELETE", on: table,
          "\(isFirst) AND EXISTS (SELECT 1 FROM \"\(child)\" WHERE \"\(column)\" = OLD.\"id\")",
          [refusal("records of \(child) still refer to this one")])
      case .cascade, .setNull, .restrict: continue
      }
    }
    return guards + trigger("delete", "AFTER DELETE", on: table, isFirst, actions)
  }

  private func uniqueTriggers(_ table: TableSchema) -> String {
    table.unique.enumerated().map { number, group in
      let same = group.map { "\"\($0)\" = NEW.\"\($0)\"" }.joined(separator: " AND ")
      let taken = """
         AND (SELECT applying FROM holdfast_local) = 0 AND EXISTS (SELECT 1 FROM "\(table.name)" WHERE \(same) AND "zone" IS \(zone(of: table)) AND "id" <> NEW."id")
        """
      let columns = group.map { "\"\($0)\"" }.joined(separator: ", ")
      let refused = [refusal("another record has this \(group.joined(separator: ", "))")]
      return trigger("unique_\(number)_create", "BEFORE INSERT", on: table, taken, refused)
        + trigger("unique_\(number)_update", "BEFORE UPDATE OF \(columns)", on: table, taken, refused)
    }.joined()
  }

  /// The zone of a trigger's new row.
  package func zone(of table: TableSchema) -> String {
    switch table.zone {
    case .root: "NEW.\"id\""
    case .user: "(SELECT user FROM holdfast_local)"
    case .public(let name): "'\(name)'"
    case .explicit, .server: "NEW.\"zone\""
    case .parent(let column):
      table.columns.first { $0.name == column }?.reference.map {
        "(SELECT \"zone\" FROM \"\($0.table)\" WHERE \"id\" = NEW.\"\(column)\")"
      } ?? "NULL"
    }
  }

  /// - Parameter isCheap: whether the condition is sooner found false than the writer is found to be local, which is a look into another table.
  func trigger(
    _ name: String, _ event: String, on table: TableSchema, _ condition: String, isCheap: Bool = false,
    _ actions: [String]
  ) -> String {
    let conditions = isCheap ? "\(condition) AND \(Self.isLocal)" : " AND \(Self.isLocal)\(condition)"
    return """
      CREATE TRIGGER "holdfast_\(table.name)_\(name)" \(event) ON "\(table.name)" WHEN \(conditions.dropFirst(" AND ".count))
      BEGIN \(actions.joined(separator: "; ")); END;

      """
  }

  func edits(_ rows: String) -> String { "\(Self.intoEdits) VALUES \(rows)" }

  func refusal(_ text: String) -> String { "SELECT RAISE(ABORT, 'holdfast: \(text)')" }
}
