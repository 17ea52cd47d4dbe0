extension SQLiteTables {
  /// What a restored server must know: where its history and the one before part, which devices it has not heard yet, and what was handed back.
  static let restoring = """
    ALTER TABLE holdfast_zones ADD COLUMN restored INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE holdfast_devices ADD COLUMN unheard INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE holdfast_handed (
      zone TEXT NOT NULL, record_table TEXT NOT NULL, id TEXT NOT NULL, rev INTEGER NOT NULL, seq INTEGER NOT NULL,
      deleted INTEGER NOT NULL, PRIMARY KEY (zone, record_table, id)
    ) WITHOUT ROWID;
    CREATE TABLE holdfast_claims (zone TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
    """

  /// The rev that each record had at the restore.
  static let bases = "ALTER TABLE holdfast_handed ADD COLUMN base INTEGER NOT NULL DEFAULT 0;"
}
