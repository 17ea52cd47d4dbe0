extension PostgresTables {
  /// What a restored server must know, in either layout: where its history and the one before part, which devices it has not heard yet, and what
  /// was handed back.
  static let restoring = """
    ALTER TABLE holdfast.zones ADD COLUMN restored bigint NOT NULL DEFAULT 0;
    ALTER TABLE holdfast.devices ADD COLUMN unheard boolean NOT NULL DEFAULT false;
    CREATE TABLE holdfast.handed (
      zone text COLLATE "C" NOT NULL, record_table text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
      rev bigint NOT NULL, seq bigint NOT NULL, deleted boolean NOT NULL, PRIMARY KEY (zone, record_table, id)
    );
    CREATE TABLE holdfast.claims (zone text COLLATE "C" PRIMARY KEY, seq bigint NOT NULL);

    """

  /// The rev that each record had at the restore, in either layout.
  static let bases = """
    ALTER TABLE holdfast.handed ADD COLUMN base bigint NOT NULL DEFAULT 0;

    """
}
