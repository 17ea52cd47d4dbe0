import HoldfastCore

extension SQLiteTables {
  /// What a restored server must know: where its history and the one before part, which devices it has not heard yet, and what was recovered.
  static let restoring = """
    ALTER TABLE holdfast_zones ADD COLUMN restored INTEGER NOT NULL DEFAULT 0 CHECK (restored >= 0);
    ALTER TABLE holdfast_devices ADD COLUMN unseen_since_restore INTEGER NOT NULL DEFAULT 0 CHECK (unseen_since_restore IN (0, 1));
    CREATE TABLE holdfast_recovered_records (
      zone TEXT NOT NULL, record_table TEXT NOT NULL, id TEXT NOT NULL, rev INTEGER NOT NULL, seq INTEGER NOT NULL,
      deleted INTEGER NOT NULL, PRIMARY KEY (zone, record_table, id),
      CHECK (rev >= 0 AND seq >= 0 AND deleted IN (0, 1))
    ) WITHOUT ROWID;
    CREATE TABLE holdfast_claimed_seqs (zone TEXT PRIMARY KEY, seq INTEGER NOT NULL CHECK (seq >= 0)) WITHOUT ROWID;
    """

  /// The key of the proofs that devices keep, and who has claimed what of zones since the restore.
  static let proofs = """
    CREATE TABLE holdfast_keys (name TEXT PRIMARY KEY, key BLOB NOT NULL CHECK (length(key) > 0)) WITHOUT ROWID;
    CREATE TABLE holdfast_zone_claims (
      zone TEXT NOT NULL, user TEXT NOT NULL, role TEXT NOT NULL, proven INTEGER NOT NULL, epochs_ago INTEGER NOT NULL,
      seq INTEGER NOT NULL, device INTEGER NOT NULL, records INTEGER NOT NULL, at INTEGER NOT NULL,
      state INTEGER NOT NULL, PRIMARY KEY (zone, user),
      CHECK ((role = '' OR role IN (\(Role.sqlList))) AND proven IN (0, 1) AND state IN (0, 1, 2))
    ) WITHOUT ROWID;
    CREATE INDEX holdfast_zone_claims_of_user ON holdfast_zone_claims (user);
    """

  /// The rev that each record had at the restore.
  static let bases =
    "ALTER TABLE holdfast_recovered_records ADD COLUMN base INTEGER NOT NULL DEFAULT 0 CHECK (base >= 0);"
}
