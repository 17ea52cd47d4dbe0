extension PostgresTables {
  /// The schema `holdfast` with the tables that hold what Holdfast knows besides the records' values.
  static let own =
    ofBothLayouts + """
      CREATE TABLE holdfast.devices (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text COLLATE "C" NOT NULL UNIQUE,
        account text COLLATE "C" NOT NULL REFERENCES holdfast.accounts (id), name text NOT NULL,
        token_hash bytea UNIQUE, confirmed bigint NOT NULL DEFAULT 0, chain bigint NOT NULL DEFAULT 0,
        acknowledged_refusals bigint NOT NULL DEFAULT 0, clock bigint NOT NULL, seen_at bigint NOT NULL,
        session bigint NOT NULL DEFAULT 1, session_used boolean NOT NULL DEFAULT false,
        applied bytea NOT NULL DEFAULT '', \(PostgresTables.deviceCheck)
      ) WITH (fillfactor = 50);
      CREATE INDEX devices_of_account ON holdfast.devices (account);
      CREATE INDEX acks_of_zone ON holdfast.acks (zone);
      -- A UUIDv7 (RFC 9562, section 5.7) of the database's clock, for writers that name no id: the milliseconds take the place of the
      -- first 48 random bits, and two more bits turn version 4 into 7.
      CREATE FUNCTION holdfast.new_id() RETURNS text LANGUAGE sql VOLATILE PARALLEL SAFE
        SET search_path = pg_catalog, pg_temp AS $$
        SELECT encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) PLACING substring(int8send(
          floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1),
          'hex')::uuid::text
      $$;

      """

  /// What holds of a device.
  static let deviceCheck = """
    CHECK (
      confirmed BETWEEN 0 AND \(greatestCount) AND acknowledged_refusals BETWEEN 0 AND \(greatestCount)
      AND session BETWEEN 1 AND \(greatestCount))
    """

  /// What is the same whether the tables are distributed or not: all but the devices.
  ///
  /// `records` is the ledger. Its rows change as often as the records: the space that is left free lets `zones`, `devices` and `acks`, of
  /// which no indexed column changes, be updated in place.
  static let ofBothLayouts = """
    CREATE SCHEMA holdfast;
    CREATE TABLE holdfast.meta (
      key text COLLATE "C" PRIMARY KEY, value text NOT NULL, CHECK (key <> 'epoch' OR length(value) = 8)
    );
    CREATE TABLE holdfast.tables (
      name text COLLATE "C" PRIMARY KEY, relation text COLLATE "C" NOT NULL UNIQUE, adopted boolean NOT NULL
    );
    CREATE TABLE holdfast.zones (
      zone text COLLATE "C" PRIMARY KEY, seq bigint NOT NULL CHECK (seq BETWEEN 0 AND \(greatestCount)),
      purged bigint NOT NULL DEFAULT 0 CHECK (purged >= 0), public boolean NOT NULL DEFAULT false,
      clock bigint NOT NULL DEFAULT 0 CHECK (clock >= 0)
    ) WITH (fillfactor = 50);
    CREATE TABLE holdfast.records (
      zone text COLLATE "C" NOT NULL, seq bigint NOT NULL, record_table text COLLATE "C" NOT NULL,
      id text COLLATE "C" NOT NULL, rev bigint NOT NULL, state smallint NOT NULL DEFAULT 0,
      stamps text COLLATE "C", stamp bigint, device bigint, deleted_seq bigint,
      PRIMARY KEY (zone, seq), CONSTRAINT records_of_record UNIQUE (id, record_table, zone),
      CHECK (seq BETWEEN 1 AND \(greatestCount) AND rev BETWEEN 1 AND \(greatestCount) AND state IN (0, 1, 2) AND (state = 0) = (stamps IS NOT NULL)
        AND (state > 0) = (stamp IS NOT NULL AND device IS NOT NULL AND deleted_seq IS NOT NULL))
    );
    CREATE TABLE holdfast.accounts (
      id text COLLATE "C" PRIMARY KEY CHECK (id <> ''), name text COLLATE "C" NOT NULL UNIQUE CHECK (name <> ''),
      password text NOT NULL, created_at bigint NOT NULL
    );
    CREATE TABLE holdfast.acks (
      device bigint NOT NULL, zone text COLLATE "C" NOT NULL, epoch text COLLATE "C" NOT NULL,
      seq bigint NOT NULL, lost boolean NOT NULL DEFAULT false, PRIMARY KEY (device, zone), CHECK (seq >= 0)
    ) WITH (fillfactor = 70);
    CREATE TABLE holdfast.notified (zone text COLLATE "C" PRIMARY KEY, seq bigint NOT NULL CHECK (seq >= 0));
    CREATE TABLE holdfast.refusals (
      device bigint NOT NULL, first bigint NOT NULL, last bigint NOT NULL, operation bigint NOT NULL,
      problem bytea NOT NULL, PRIMARY KEY (device, first), CHECK (first > 0 AND operation BETWEEN first AND last)
    );

    """
}
