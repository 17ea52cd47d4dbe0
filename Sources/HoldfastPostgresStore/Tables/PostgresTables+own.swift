package import HoldfastCore
import HoldfastService

extension PostgresTables {
  /// The version of the schema `holdfast`, stored in `holdfast.meta`.
  package static let format: Int64 = 1

  /// The schema `holdfast`, with all tables except those of the records' values.
  package static let own =
    [basics, accounts, devices, newID, requests, results, sharing, restoring, operators]
    .joined(separator: "\n") + "\n"

  /// The names of Holdfast's own tables in the schema `holdfast`.
  package static let ownNames = TextSet(
    own.split(separator: "CREATE TABLE holdfast.").dropFirst().map { String($0.prefix { $0 != " " }) }
      + ["members", "conflicts", "sql_writes"])

  /// `records` is the ledger. Its rows change as often as the records. `zones`, `devices` and `acks` leave free space in their pages: no
  /// indexed column changes, so updates can happen in place.
  private static let basics = """
    CREATE SCHEMA holdfast;
    CREATE TABLE holdfast.meta (
      key text COLLATE "C" PRIMARY KEY, value text NOT NULL, CHECK (key <> 'epoch' OR length(value) = 8)
    );
    CREATE SEQUENCE holdfast.sql_writes;
    SELECT setval('holdfast.sql_writes', 1);
    CREATE TABLE holdfast.tables (
      name text COLLATE "C" PRIMARY KEY, relation text COLLATE "C" NOT NULL UNIQUE, adopted boolean NOT NULL
    );
    CREATE TABLE holdfast.zones (
      zone text COLLATE "C" PRIMARY KEY, seq bigint NOT NULL CHECK (seq BETWEEN 0 AND \(greatestCount)),
      purged bigint NOT NULL DEFAULT 0 CHECK (purged >= 0), public boolean NOT NULL DEFAULT false,
      clock bigint NOT NULL DEFAULT 0 CHECK (clock >= 0), restored bigint NOT NULL DEFAULT 0 CHECK (restored >= 0),
      erased bigint NOT NULL DEFAULT 0 CHECK (erased >= 0), records bigint NOT NULL DEFAULT 0 CHECK (records >= 0),
      bytes bigint NOT NULL DEFAULT 0 CHECK (bytes >= 0), left_for text COLLATE "C" CHECK (left_for <> ''),
      deleting_until bigint NOT NULL DEFAULT 0 CHECK (deleting_until >= 0)
    ) WITH (fillfactor = 50);
    CREATE INDEX zones_erased ON holdfast.zones (zone) WHERE erased > 0;
    CREATE INDEX zones_left ON holdfast.zones (zone) WHERE left_for IS NOT NULL;
    CREATE TABLE holdfast.moves (
      zone text COLLATE "C" PRIMARY KEY, number bigint NOT NULL CHECK (number > 0), state bigint NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 2)
    );
    CREATE TABLE holdfast.carried (
      account text COLLATE "C" NOT NULL, origin text COLLATE "C" NOT NULL, zone text COLLATE "C" NOT NULL, at bigint NOT NULL,
      PRIMARY KEY (account, origin, zone), CHECK (origin <> '' AND at >= 0)
    );
    CREATE INDEX carried_of_zone ON holdfast.carried (zone, account, origin);
    CREATE INDEX carried_of_time ON holdfast.carried (at);
    CREATE TABLE holdfast.records (
      zone text COLLATE "C" NOT NULL, seq bigint NOT NULL, record_table text COLLATE "C" NOT NULL,
      id text COLLATE "C" NOT NULL, rev bigint NOT NULL, state smallint NOT NULL DEFAULT 0,
      stamps text COLLATE "C", stamp bigint, device bigint, deleted_seq bigint,
      size bigint NOT NULL DEFAULT 0 CHECK (size >= 0),
      PRIMARY KEY (zone, seq), CONSTRAINT records_of_record UNIQUE (id, record_table, zone),
      CHECK (seq BETWEEN 1 AND \(greatestCount) AND rev BETWEEN 1 AND \(greatestCount) AND state IN (0, 1, 2) AND (state = 0) = (stamps IS NOT NULL)
        AND (state > 0) = (stamp IS NOT NULL AND device IS NOT NULL AND deleted_seq IS NOT NULL))
    );
    CREATE INDEX records_gone ON holdfast.records (zone, seq) WHERE state > 0;
    CREATE TABLE holdfast.notified (zone text COLLATE "C" PRIMARY KEY, seq bigint NOT NULL CHECK (seq >= 0));
    """

  /// The audit log, and the samples of the console's charts.
  private static let operators = """
    CREATE TABLE holdfast.audit (
      id text COLLATE "C" PRIMARY KEY, at bigint NOT NULL, action text NOT NULL, target text NOT NULL, detail text NOT NULL,
      operator text NOT NULL, node text NOT NULL, address text NOT NULL,
      CHECK (
        at >= 0 AND action <> '' AND operator <> '' AND length(action) <= \(AuditEntry.textLimit) AND length(target) <= \(AuditEntry.textLimit)
        AND length(detail) <= \(AuditEntry.textLimit) AND length(operator) <= \(AuditEntry.textLimit)
        AND length(node) <= \(AuditEntry.textLimit) AND length(address) <= \(AuditEntry.textLimit))
    );
    CREATE INDEX audit_of_time ON holdfast.audit (at);
    CREATE TABLE holdfast.samples (
      node text COLLATE "C" NOT NULL, span bigint NOT NULL, at bigint NOT NULL, content text NOT NULL,
      PRIMARY KEY (node, span, at),
      CHECK (node <> '' AND span IN (60, 3600) AND at >= 0 AND at % span = 0 AND length(content) <= 4096)
    );
    CREATE INDEX samples_of_time ON holdfast.samples (span, at);
    """

  /// A UUIDv7 (RFC 9562, section 5.7) by the database's clock, for writers without an id. The milliseconds replace the first 48 random
  /// bits, and two more bits change version 4 to 7.
  static let newID = """
    CREATE OR REPLACE FUNCTION holdfast.new_id() RETURNS text LANGUAGE sql VOLATILE PARALLEL SAFE
      SET search_path = pg_catalog, pg_temp AS $$
      SELECT encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) PLACING substring(int8send(
        floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1),
        'hex')::uuid::text
    $$;
    """

  /// The accounts, with their loss counters and the state of their erasure, and the identities from identity providers.
  /// The guests, each with the database that is the home: docs/DIRECTORY.md.
  private static let accounts = """
    CREATE TABLE holdfast.accounts (
      id text COLLATE "C" PRIMARY KEY CHECK (id <> ''), name text COLLATE "C" NOT NULL UNIQUE CHECK (name <> ''),
      password text NOT NULL, created_at bigint NOT NULL, losses bigint NOT NULL DEFAULT 0 CHECK (losses >= 0),
      erasure bigint NOT NULL DEFAULT 0 CHECK (erasure IN (0, 1, 2)), erasure_untold boolean NOT NULL DEFAULT false
    );
    CREATE INDEX accounts_erased ON holdfast.accounts (id) WHERE erasure = 1;
    CREATE INDEX accounts_untold ON holdfast.accounts (id) WHERE erasure_untold;
    CREATE TABLE holdfast.guests (
      account text COLLATE "C" PRIMARY KEY REFERENCES holdfast.accounts (id), home text COLLATE "C" NOT NULL CHECK (home <> '')
    );
    CREATE TABLE holdfast.identities (
      issuer text COLLATE "C" NOT NULL, subject text COLLATE "C" NOT NULL, account text COLLATE "C" NOT NULL,
      PRIMARY KEY (issuer, subject), CHECK (issuer <> '' AND subject <> '')
    );
    CREATE INDEX identities_of_account ON holdfast.identities (account);
    """

  /// The devices: their progress, tokens, tickets, client versions, and whether their acks were purged. The acks, each with the zone's purge horizon
  /// at the start of the download. The refusals. The push tokens; the hash finds a token, which may be too long for an index.
  private static let devices = """
    CREATE TABLE holdfast.devices (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text COLLATE "C" NOT NULL UNIQUE,
      account text COLLATE "C" NOT NULL REFERENCES holdfast.accounts (id), name text NOT NULL, token_hash bytea UNIQUE,
      confirmed bigint NOT NULL DEFAULT 0, chain bigint NOT NULL DEFAULT 0, acknowledged_refusals bigint NOT NULL DEFAULT 0,
      clock bigint NOT NULL, seen_at bigint NOT NULL, session bigint NOT NULL DEFAULT 1,
      session_used boolean NOT NULL DEFAULT false, session_at bigint NOT NULL DEFAULT 0 CHECK (session_at >= 0),
      applied bytea NOT NULL DEFAULT '', scope text, issued_after bigint, acks_purged boolean NOT NULL DEFAULT false,
      app text, app_schema text, ticket_hash bytea UNIQUE, ticket_until bigint NOT NULL DEFAULT 0 CHECK (ticket_until >= 0),
      unseen_since_restore boolean NOT NULL DEFAULT false,
      pass_session bigint NOT NULL DEFAULT 0 CHECK (pass_session >= 0),
      ended_session bigint NOT NULL DEFAULT 0 CHECK (ended_session >= 0),
      CHECK (
        confirmed BETWEEN 0 AND \(greatestCount) AND acknowledged_refusals BETWEEN 0 AND \(greatestCount)
        AND session BETWEEN 1 AND \(greatestCount))
    ) WITH (fillfactor = 50);
    CREATE INDEX devices_of_account ON holdfast.devices (account);
    CREATE INDEX devices_unused ON holdfast.devices (number)
      WHERE session = 1 AND NOT session_used AND scope IS NULL AND issued_after IS NULL;
    CREATE INDEX devices_ended ON holdfast.devices (number) WHERE ended_session > 0;
    CREATE TABLE holdfast.guest_sessions (
      device bigint PRIMARY KEY, home_device text COLLATE "C" NOT NULL, ends_at bigint NOT NULL CHECK (ends_at >= 0)
    );
    CREATE INDEX guest_sessions_of_home ON holdfast.guest_sessions (home_device);
    CREATE INDEX guest_sessions_end ON holdfast.guest_sessions (ends_at);
    CREATE TABLE holdfast.push_tokens (
      device bigint PRIMARY KEY, kind text NOT NULL, token text NOT NULL, token_hash bytea NOT NULL,
      CHECK (octet_length(kind) BETWEEN 1 AND 32 AND octet_length(token) BETWEEN 1 AND 4096)
    );
    CREATE INDEX push_tokens_of_hash ON holdfast.push_tokens (token_hash);
    REVOKE ALL ON holdfast.push_tokens FROM PUBLIC;
    CREATE TABLE holdfast.acks (
      device bigint NOT NULL, zone text COLLATE "C" NOT NULL, epoch text COLLATE "C" NOT NULL,
      seq bigint NOT NULL, lost boolean NOT NULL DEFAULT false,
      purged bigint NOT NULL DEFAULT 0 CHECK (purged >= -1), PRIMARY KEY (device, zone), CHECK (seq >= 0)
    ) WITH (fillfactor = 70);
    CREATE INDEX acks_of_zone ON holdfast.acks (zone);
    CREATE TABLE holdfast.refusals (
      device bigint NOT NULL, first bigint NOT NULL, last bigint NOT NULL, operation bigint NOT NULL,
      problem bytea NOT NULL, PRIMARY KEY (device, first), CHECK (first > 0 AND operation BETWEEN first AND last)
    );
    """

  /// The REST requests with ids. `number` counts per device; `bytes_before` is the total size of the device's earlier answers.
  private static let requests = """
    CREATE TABLE holdfast.requests (
      device bigint NOT NULL, request_id text COLLATE "C" NOT NULL, number bigint NOT NULL,
      bytes_before bigint NOT NULL, bytes bigint NOT NULL, at bigint NOT NULL, fingerprint bytea NOT NULL,
      status bigint NOT NULL, head text NOT NULL, body bytea NOT NULL, PRIMARY KEY (device, request_id),
      CHECK (
        number BETWEEN 1 AND \(greatestCount) AND bytes BETWEEN 0 AND \(greatestCount) AND bytes_before BETWEEN 0 AND \(greatestCount)
        AND status BETWEEN 100 AND 599)
    );
    CREATE UNIQUE INDEX requests_in_order ON holdfast.requests (device, number);
    CREATE INDEX requests_of_time ON holdfast.requests (at);
    CREATE TABLE holdfast.created (
      device bigint NOT NULL, request_id text COLLATE "C" NOT NULL, place bigint NOT NULL,
      account text COLLATE "C" NOT NULL, fingerprint bytea NOT NULL, record_table text COLLATE "C" NOT NULL,
      record_id text COLLATE "C" NOT NULL, PRIMARY KEY (device, request_id, place), CHECK (place >= 0)
    );
    CREATE INDEX created_of_record ON holdfast.created (record_id, record_table);
    """

  /// Stored query results, with their ids in chunks.
  private static let results = """
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
    """

  /// The effective access, which every access check reads; the invitations; the users who have left zones; the blocks.
  private static let sharing = """
    CREATE TABLE holdfast.access (
      zone text COLLATE "C" NOT NULL, "user" text COLLATE "C" NOT NULL, role text COLLATE "C" NOT NULL CHECK (role IN (\(Role.sqlList))),
      PRIMARY KEY (zone, "user")
    );
    CREATE INDEX access_of_user ON holdfast.access ("user", role);
    CREATE TABLE holdfast.invitations (
      zone text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, token_hash bytea NOT NULL,
      role text COLLATE "C" NOT NULL CHECK (role IN (\(Role.sqlList))), inviter text COLLATE "C" NOT NULL,
      expires_at bigint NOT NULL, uses bigint NOT NULL CHECK (uses >= 0), PRIMARY KEY (zone, id)
    );
    CREATE INDEX invitations_of_token ON holdfast.invitations (token_hash);
    CREATE INDEX invitations_of_inviter ON holdfast.invitations (inviter);
    CREATE TABLE holdfast.departures (
      zone text COLLATE "C" NOT NULL, "user" text COLLATE "C" NOT NULL, PRIMARY KEY (zone, "user")
    );
    CREATE INDEX departures_of_user ON holdfast.departures ("user");
    CREATE TABLE holdfast.blocks (
      account text COLLATE "C" NOT NULL, blocked text COLLATE "C" NOT NULL, PRIMARY KEY (account, blocked),
      CHECK (account <> blocked)
    );
    CREATE INDEX blocks_of_blocked ON holdfast.blocks (blocked);
    """

  /// The data of a restored server: each record's state at the restore, its recovered state, the claimed seqs, the key of the proofs, and
  /// the claims.
  private static let restoring = """
    CREATE TABLE holdfast.recovered_records (
      zone text COLLATE "C" NOT NULL, record_table text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
      rev bigint NOT NULL, seq bigint NOT NULL, deleted boolean NOT NULL,
      base bigint NOT NULL DEFAULT 0 CHECK (base >= 0), PRIMARY KEY (zone, record_table, id),
      CHECK (rev >= 0 AND seq >= 0)
    );
    CREATE TABLE holdfast.claimed_seqs (zone text COLLATE "C" PRIMARY KEY, seq bigint NOT NULL CHECK (seq >= 0));
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
}
