import HoldfastCore

extension PostgresTables {
  /// What a restored server must know, in either layout: where its history and the one before part, which devices it has not heard yet, and what
  /// was recovered.
  static let restoring = """
    ALTER TABLE holdfast.zones ADD COLUMN restored bigint NOT NULL DEFAULT 0;
    ALTER TABLE holdfast.zones ADD CONSTRAINT zones_restored CHECK (restored >= 0);
    ALTER TABLE holdfast.devices ADD COLUMN unseen_since_restore boolean NOT NULL DEFAULT false;
    CREATE TABLE holdfast.recovered_records (
      zone text COLLATE "C" NOT NULL, record_table text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
      rev bigint NOT NULL, seq bigint NOT NULL, deleted boolean NOT NULL, PRIMARY KEY (zone, record_table, id),
      CHECK (rev >= 0 AND seq >= 0)
    );
    CREATE TABLE holdfast.claimed_seqs (zone text COLLATE "C" PRIMARY KEY, seq bigint NOT NULL CHECK (seq >= 0));

    """

  /// The key of the proofs that devices keep, and who has claimed what of zones since the restore, in either layout.
  static let proofs = """
    CREATE TABLE holdfast.keys (name text COLLATE "C" PRIMARY KEY, key bytea NOT NULL CHECK (length(key) > 0));
    REVOKE ALL ON holdfast.keys FROM PUBLIC;
    CREATE TABLE holdfast.zone_claims (
      zone text COLLATE "C" NOT NULL, account text COLLATE "C" NOT NULL, role text NOT NULL, proven boolean NOT NULL,
      epochs_ago bigint NOT NULL, seq bigint NOT NULL, device bigint NOT NULL, records bigint NOT NULL, at bigint NOT NULL,
      state bigint NOT NULL, PRIMARY KEY (zone, account),
      CHECK ((role = '' OR role IN (\(Role.sqlList))) AND state IN (0, 1, 2))
    );
    CREATE INDEX zone_claims_of_account ON holdfast.zone_claims (account);

    """

  /// The rev that each record had at the restore, in either layout.
  static let bases = """
    ALTER TABLE holdfast.recovered_records ADD COLUMN base bigint NOT NULL DEFAULT 0;
    ALTER TABLE holdfast.recovered_records ADD CONSTRAINT recovered_base CHECK (base >= 0);

    """
}
