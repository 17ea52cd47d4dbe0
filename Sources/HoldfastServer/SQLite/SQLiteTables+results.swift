extension SQLiteTables {
  /// What reading needs besides: kept results with their ids in chunks, and what users have lost.
  static let results = """
    CREATE TABLE holdfast_results (
      user TEXT NOT NULL, token_hash BLOB NOT NULL, record_table TEXT NOT NULL, shown TEXT,
      page_size INTEGER NOT NULL, id_count INTEGER NOT NULL, expires INTEGER NOT NULL,
      PRIMARY KEY (user, token_hash), CHECK (page_size > 0 AND id_count >= 0)
    ) WITHOUT ROWID;
    CREATE INDEX holdfast_results_of_time ON holdfast_results (expires);
    CREATE TABLE holdfast_result_ids (
      user TEXT NOT NULL, token_hash BLOB NOT NULL, chunk INTEGER NOT NULL, ids TEXT NOT NULL,
      PRIMARY KEY (user, token_hash, chunk), CHECK (chunk >= 0)
    );
    ALTER TABLE holdfast_accounts ADD COLUMN losses INTEGER NOT NULL DEFAULT 0 CHECK (losses >= 0);
    """
}
