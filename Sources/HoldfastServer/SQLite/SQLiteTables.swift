import HoldfastCore
import HoldfastSQLite

/// The SQL that makes the server's database: Holdfast's own tables, and the schema's with the same names.
///
/// Records are clustered by (zone, seq), so that what is new in a zone is one range of each table.
struct SQLiteTables {
  /// Stored as `PRAGMA application_id`: "HfSv".
  static let applicationID: Int64 = 0x4866_5376
  /// Stored as `PRAGMA user_version`.
  static var formatVersion: Int64 { Int64(steps.count) }

  /// The steps by which Holdfast's own tables came to their form, each making the format of its number, from 1. A new database takes them all;
  /// one that stands takes those that it has not had. A step that was released never changes.
  private static let steps = [
    first, requests, results, identity, retention, access, restoring, erasing, bases,
    consents + proofs,
  ]

  /// What makes Holdfast's own tables of those of a format; 0 is that of an empty database.
  static func own(after format: Int64 = 0) -> String {
    steps.dropFirst(Int(clamping: max(0, format))).joined(separator: "\n")
  }

  let schema: SyncSchema

  private static let deviceCheck = """
    CHECK (
      confirmed BETWEEN 0 AND \(greatestCount) AND acknowledged_refusals BETWEEN 0 AND \(greatestCount)
      AND session BETWEEN 1 AND \(greatestCount) AND session_used IN (0, 1))
    """

  /// What every server needs.
  private static let first = """
    CREATE TABLE holdfast_meta (
      key TEXT PRIMARY KEY, value TEXT NOT NULL, CHECK (key <> 'epoch' OR length(value) = 8)
    ) WITHOUT ROWID;
    CREATE TABLE holdfast_zones (
      zone TEXT PRIMARY KEY, seq INTEGER NOT NULL CHECK (seq BETWEEN 0 AND \(greatestCount)),
      purged INTEGER NOT NULL DEFAULT 0 CHECK (purged >= 0), public INTEGER NOT NULL DEFAULT 0 CHECK (public IN (0, 1))
    ) WITHOUT ROWID;
    CREATE TABLE holdfast_tombstones (
      zone TEXT NOT NULL, seq INTEGER NOT NULL, record_table TEXT NOT NULL, id TEXT NOT NULL,
      rev INTEGER NOT NULL, stamp INTEGER NOT NULL, device INTEGER NOT NULL, departed INTEGER NOT NULL,
      deleted_seq INTEGER NOT NULL,
      PRIMARY KEY (zone, seq), CHECK (seq BETWEEN 1 AND \(greatestCount) AND rev BETWEEN 1 AND \(greatestCount) AND departed IN (0, 1))
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX holdfast_tombstones_of_record ON holdfast_tombstones (id, record_table, zone);
    CREATE TABLE holdfast_accounts (
      id TEXT PRIMARY KEY CHECK (id <> ''), name TEXT NOT NULL UNIQUE CHECK (name <> ''), password TEXT NOT NULL,
      created_at INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE holdfast_devices (
      number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
      user TEXT NOT NULL REFERENCES holdfast_accounts (id), name TEXT NOT NULL, token_hash BLOB UNIQUE,
      confirmed INTEGER NOT NULL DEFAULT 0, chain INTEGER NOT NULL DEFAULT 0, acknowledged_refusals INTEGER NOT NULL DEFAULT 0,
      clock INTEGER NOT NULL, seen_at INTEGER NOT NULL, session INTEGER NOT NULL DEFAULT 1,
      session_used INTEGER NOT NULL DEFAULT 0, applied BLOB NOT NULL DEFAULT x'',
      \(Self.deviceCheck)
    );
    CREATE INDEX holdfast_devices_of_user ON holdfast_devices (user);
    CREATE TABLE holdfast_acks (
      device INTEGER NOT NULL, zone TEXT NOT NULL, epoch TEXT NOT NULL, seq INTEGER NOT NULL,
      lost INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (device, zone), CHECK (seq >= 0 AND lost IN (0, 1))
    ) WITHOUT ROWID;
    CREATE TABLE holdfast_notified (zone TEXT PRIMARY KEY, seq INTEGER NOT NULL CHECK (seq >= 0)) WITHOUT ROWID;
    CREATE TABLE holdfast_refusals (
      device INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, operation INTEGER NOT NULL,
      problem BLOB NOT NULL, PRIMARY KEY (device, first),
      CHECK (first > 0 AND operation BETWEEN first AND last)
    ) WITHOUT ROWID;
    """

  /// The requests of REST with ids. `number` counts those of a device; `bytes_before` is the size of all answers before it.
  private static let requests = """
    CREATE TABLE holdfast_requests (
      device INTEGER NOT NULL, request_id TEXT NOT NULL, number INTEGER NOT NULL, bytes_before INTEGER NOT NULL,
      bytes INTEGER NOT NULL, at INTEGER NOT NULL, fingerprint BLOB NOT NULL, status INTEGER NOT NULL,
      head TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (device, request_id),
      CHECK (
        number BETWEEN 1 AND \(greatestCount) AND bytes BETWEEN 0 AND \(greatestCount) AND bytes_before BETWEEN 0 AND \(greatestCount)
        AND status BETWEEN 100 AND 599)
    );
    CREATE UNIQUE INDEX holdfast_requests_in_order ON holdfast_requests (device, number);
    CREATE TABLE holdfast_created (
      device INTEGER NOT NULL, request_id TEXT NOT NULL, place INTEGER NOT NULL, user TEXT NOT NULL,
      fingerprint BLOB NOT NULL, record_table TEXT NOT NULL, record_id TEXT NOT NULL,
      PRIMARY KEY (device, request_id, place), CHECK (place >= 0)
    ) WITHOUT ROWID;
    CREATE INDEX holdfast_created_of_record ON holdfast_created (record_id, record_table);
    """

  /// One table with its indexes.
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

  /// All indexes of one table.
  func indexes(of index: Int) -> String {
    let table = schema.tables[index]
    var sql = "CREATE UNIQUE INDEX \"holdfast_\(table.name)_id\" ON \"\(table.name)\" (\"id\");\n"
    for link in schema.links(of: index) { sql += link.index(in: schema) }
    // SQLite would check at each row. The service checks when a change set is whole, and nobody else writes.
    for (number, group) in table.unique.enumerated() {
      let columns = group.map { ", \"\($0)\"" }.joined()
      sql += """
        CREATE INDEX "holdfast_\(table.name)_unique_\(number)" ON "\(table.name)" ("zone"\(columns));

        """
    }
    for columns in table.serverIndexes { sql += self.index(columns, of: index) }
    if table.zone == .explicit {
      sql += "CREATE INDEX \"holdfast_members_of_user\" ON \"\(table.name)\" (\"user\", \"role\");\n"
      sql += "CREATE INDEX \"holdfast_members_of_group\" ON \"\(table.name)\" (\"group\");\n"
    }
    return sql
  }

  /// The statement that makes an index that is declared or of lists, if it is not there.
  func index(_ columns: [String], of index: Int) -> String {
    let name = schema.tables[index].name
    let keys = columns.map { ", \"\($0)\"" }.joined()
    return
      "CREATE INDEX IF NOT EXISTS \(Self.indexName(columns, of: name)) ON \"\(name)\" (\"zone\"\(keys));\n"
  }

  /// The indexes of lists; databases were made without them once.
  var listIndexes: String {
    schema.tables.enumerated().map { index, table in
      table.serverIndexes.dropFirst(table.indexes.count).map { self.index($0, of: index) }.joined()
    }.joined()
  }

  /// The name, quoted, of the index that `index(_:of:)` makes.
  static func indexName(_ columns: [String], of table: String) -> String {
    "\"holdfast_\(table)_by_\(columns.joined(separator: "-"))\""
  }

  /// The definition of one column, as it stands in CREATE TABLE and in ALTER TABLE.
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
