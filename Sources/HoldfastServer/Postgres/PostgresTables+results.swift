extension PostgresTables {
  /// What reading needs besides, in either layout: kept results with their ids in chunks, and what users have lost.
  static let results = """
    CREATE TABLE holdfast.results (
      account text COLLATE "C" NOT NULL, token_hash bytea NOT NULL, record_table text COLLATE "C" NOT NULL,
      shown text, page_size bigint NOT NULL, id_count bigint NOT NULL, expires bigint NOT NULL,
      PRIMARY KEY (account, token_hash), CHECK (page_size > 0 AND id_count >= 0)
    );
    CREATE INDEX results_of_time ON holdfast.results (expires);
    CREATE TABLE holdfast.result_ids (
      account text COLLATE "C" NOT NULL, token_hash bytea NOT NULL, chunk bigint NOT NULL, ids text NOT NULL,
      PRIMARY KEY (account, token_hash, chunk), CHECK (chunk >= 0)
    );
    ALTER TABLE holdfast.accounts ADD COLUMN losses bigint NOT NULL DEFAULT 0;
    ALTER TABLE holdfast.accounts ADD CONSTRAINT accounts_losses CHECK (losses >= 0);

    """
}
