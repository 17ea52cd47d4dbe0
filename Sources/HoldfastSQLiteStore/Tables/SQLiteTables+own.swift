import HoldfastCore
import HoldfastService

extension SQLiteTables {
  /// Holdfast's own tables.
  package static let own = [basics, accounts, devices, requests, results, sharing, restoring, operators]
    .joined(separator: "\n")

  /// The audit log, and the samples of the console's charts.
  private static let operators = """
    CREATE TABLE holdfast_audit (
      id TEXT PRIMARY KEY, at INTEGER NOT NULL, action TEXT NOT NULL, target TEXT NOT NULL, detail TEXT NOT NULL,
      operator TEXT NOT NULL, node TEXT NOT NULL, address TEXT NOT NULL,
      CHECK (
        at >= 0 AND action <> '' AND operator <> '' AND length(action) <= \(AuditEntry.textLimit) AND length(target) <= \(AuditEntry.textLimit)
        AND length(detail) <= \(AuditEntry.textLimit) AND length(operator) <= \(AuditEntry.textLimit)
        AND length(node) <= \(AuditEntry.textLimit) AND length(address) <= \(AuditEntry.textLimit))
    ) WITHOUT ROWID;
    CREATE INDEX holdfast_audit_of_time ON holdfast_audit (at);
    CREATE TABLE holdfast_samples (
      node TEXT NOT NULL, span INTEGER NOT NULL, at INTEGER NOT NULL, content TEXT NOT NULL,
      PRIMARY KEY (node, span, at),
      CHECK (node <> '' AND span IN (60, 3600) AND at >= 0 AND at % span = 0 AND length(content) <= 4096)
    ) WITHOUT ROWID;
    CREATE INDEX holdfast_samples_of_time ON holdfast_samples (span, at);
    """

  private static let basics = """
    CREATE TABLE holdfast_meta (
      key TEXT PRIMARY KEY, value TEXT NOT NULL, CHECK (key <> 'epoch' OR length(value) = 8)
    ) WITHOUT ROWID;
    CREATE TABLE holdfast_zones (
      zone TEXT PRIMARY KEY, seq INTEGER NOT NULL CHECK (seq BETWEEN 0 AND \(greatestCount)), clock INTEGER NOT NULL DEFAULT 0,
      purged INTEGER NOT NULL DEFAULT 0 CHECK (purged >= 0), public INTEGER NOT NULL DEFAULT 0 CHECK (public IN (0, 1)),
      restored INTEGER NOT NULL DEFAULT 0 CHECK (restored >= 0), erased INTEGER NOT NULL DEFAULT 0 CHECK (erased >= 0),
      records INTEGER NOT NULL DEFAULT 0 CHECK (records >= 0), bytes INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0),
      left_for TEXT CHECK (left_for <> ''), deleting_until INTEGER NOT NULL DEFAULT 0 CHECK (deleting_until >= 0)
    ) WITHOUT ROWID;
    CREATE INDEX holdfast_zones_erased ON holdfast_zones (zone) WHERE erased > 0;
    CREATE INDEX holdfast_zones_left ON holdfast_zones (zone) WHERE left_for IS NOT NULL;
    CREATE TABLE holdfast_moves (
      zone TEXT PRIMARY KEY, number INTEGER NOT NULL CHECK (number > 0), state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 2)
    ) WITHOUT ROWID;
    CREATE TABLE holdfast_tombstones (
      zone TEXT NOT NULL, seq INTEGER NOT NULL, record_table TEXT NOT NULL, id TEXT NOT NULL,
      rev INTEGER NOT NULL, stamp INTEGER NOT NULL, device INTEGER NOT NULL, departed INTEGER NOT NULL,
      deleted_seq INTEGER NOT NULL,
      PRIMARY KEY (zone, seq), CHECK (seq BETWEEN 1 AND \(greatestCount) AND rev BETWEEN 1 AND \(greatestCount) AND departed IN (0, 1))
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX holdfast_tombstones_of_record ON holdfast_tombstones (id, record_table, zone);
    CREATE TABLE holdfast_carried (
      user TEXT NOT NULL, origin TEXT NOT NULL, zone TEXT NOT NULL, at INTEGER NOT NULL,
      PRIMARY KEY (user, origin, zone), CHECK (origin <> '' AND at >= 0)
    ) WITHOUT ROWID;
    CREATE INDEX holdfast_carried_of_zone ON holdfast_carried (zone, user, origin);
    CREATE INDEX holdfast_carried_of_time ON holdfast_carried (at);
    CREATE TABLE holdfast_notified (zone TEXT PRIMARY KEY, seq INTEGER NOT NULL CHECK (seq >= 0)) WITHOUT ROWID;
    """

  /// The accounts, with their loss counters and the state of their erasure, and the identities from identity providers.
  /// The guests, each with the database that is the home: docs/DIRECTORY.md.
  private static let accounts = """
    CREATE TABLE holdfast_accounts (
      id TEXT PRIMARY KEY CHECK (id <> ''), name TEXT NOT NULL UNIQUE CHECK (name <> ''), password TEXT NOT NULL,
      created_at INTEGER NOT NULL, losses INTEGER NOT NULL DEFAULT 0 CHECK (losses >= 0),
      erasure INTEGER NOT NULL DEFAULT 0 CHECK (erasure IN (0, 1, 2)),
      erasure_untold INTEGER NOT NULL DEFAULT 0 CHECK (erasure_untold IN (0, 1))
    ) WITHOUT ROWID;
    CREATE INDEX holdfast_accounts_erased ON holdfast_accounts (id) WHERE erasure = 1;
    CREATE INDEX holdfast_accounts_untold ON holdfast_accounts (id) WHERE erasure_untold = 1;
    CREATE TABLE holdfast_guests (user TEXT PRIMARY KEY REFERENCES holdfast_accounts (id), home TEXT NOT NULL CHECK (home <> '')) WITHOUT ROWID;
    CREATE TABLE holdfast_identities (
      issuer TEXT NOT NULL, subject TEXT NOT NULL, user TEXT NOT NULL REFERENCES holdfast_accounts (id),
      PRIMARY KEY (issuer, subject), CHECK (issuer <> '' AND subject <> '')
    ) WITHOUT ROWID;
    CREATE INDEX holdfast_identities_of_user ON holdfast_identities (user);
    """

  /// The devices: their progress, tokens, tickets, client versions, and whether their acks were purged. The acks, each with the zone's purge horizon
  /// at the start of the download. The refusals. The push tokens; the hash finds a token, which may be too long for an index.
  private static let devices = """
    CREATE TABLE holdfast_devices (
      number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
      user TEXT NOT NULL REFERENCES holdfast_accounts (id), name TEXT NOT NULL, token_hash BLOB UNIQUE,
      confirmed INTEGER NOT NULL DEFAULT 0, chain INTEGER NOT NULL DEFAULT 0, acknowledged_refusals INTEGER NOT NULL DEFAULT 0,
      clock INTEGER NOT NULL, seen_at INTEGER NOT NULL, session INTEGER NOT NULL DEFAULT 1,
      session_used INTEGER NOT NULL DEFAULT 0, session_at INTEGER NOT NULL DEFAULT 0 CHECK (session_at >= 0),
      applied BLOB NOT NULL DEFAULT x'', scope TEXT, issued_after INTEGER,
      acks_purged INTEGER NOT NULL DEFAULT 0 CHECK (acks_purged IN (0, 1)), app TEXT, app_schema TEXT,
      ticket_hash BLOB UNIQUE, ticket_until INTEGER NOT NULL DEFAULT 0 CHECK (ticket_until >= 0),
      unseen_since_restore INTEGER NOT NULL DEFAULT 0 CHECK (unseen_since_restore IN (0, 1)),
      pass_session INTEGER NOT NULL DEFAULT 0 CHECK (pass_session >= 0),
      ended_session INTEGER NOT NULL DEFAULT 0 CHECK (ended_session >= 0),
      CHECK (
        confirmed BETWEEN 0 AND \(greatestCount) AND acknowledged_refusals BETWEEN 0 AND \(greatestCount)
        AND session BETWEEN 1 AND \(greatestCount) AND session_used IN (0, 1))
    );
    CREATE INDEX holdfast_devices_of_user ON holdfast_devices (user);
    CREATE INDEX holdfast_devices_unused ON holdfast_devices (number)
      WHERE session = 1 AND session_used = 0 AND scope IS NULL AND issued_after IS NULL;
    CREATE INDEX holdfast_devices_ended ON holdfast_devices (number) WHERE ended_session > 0;
    CREATE TABLE holdfast_guest_sessions (
      device INTEGER PRIMARY KEY, home_device TEXT NOT NULL, ends_at INTEGER NOT NULL CHECK (ends_at >= 0)
    );
    CREATE INDEX holdfast_guest_sessions_of_home ON holdfast_guest_sessions (home_device);
    CREATE INDEX holdfast_guest_sessions_end ON holdfast_guest_sessions (ends_at);
    CREATE TABLE holdfast_push_tokens (
      device INTEGER PRIMARY KEY, kind TEXT NOT NULL, token TEXT NOT NULL, token_hash BLOB NOT NULL,
      CHECK (length(CAST(kind AS BLOB)) BETWEEN 1 AND 32 AND length(CAST(token AS BLOB)) BETWEEN 1 AND 4096)
    );
    CREATE INDEX holdfast_push_tokens_of_hash ON holdfast_push_tokens (token_hash);
    CREATE TABLE holdfast_acks (
      device INTEGER NOT NULL, zone TEXT NOT NULL, epoch TEXT NOT NULL, seq INTEGER NOT NULL,
      lost INTEGER NOT NULL DEFAULT 0, purged INTEGER NOT NULL DEFAULT 0 CHECK (purged >= -1),
      PRIMARY KEY (device, zone), CHECK (seq >= 0 AND lost IN (0, 1))
    ) WITHOUT ROWID;
    CREATE INDEX holdfast_acks_of_zone ON holdfast_acks (zone);
    CREATE TABLE holdfast_refusals (
      device INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, operation INTEGER NOT NULL,
      problem BLOB NOT NULL, PRIMARY KEY (device, first),
      CHECK (first > 0 AND operation BETWEEN first AND last)
    ) WITHOUT ROWID;
    """

  /// The REST requests with ids. `number` counts per device; `bytes_before` is the total size of the device's earlier answers.
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
    CREATE INDEX holdfast_requests_of_time ON holdfast_requests (at);
    CREATE TABLE holdfast_created (
      device INTEGER NOT NULL, request_id TEXT NOT NULL, place INTEGER NOT NULL, user TEXT NOT NULL,
      fingerprint BLOB NOT NULL, record_table TEXT NOT NULL, record_id TEXT NOT NULL,
      PRIMARY KEY (device, request_id, place), CHECK (place >= 0)
    ) WITHOUT ROWID;
    CREATE INDEX holdfast_created_of_record ON holdfast_created (record_id, record_table);
    """

  /// Stored query results, with their ids in chunks.
  private static let results = """
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
    """

  /// The effective access, which every access check reads; the invitations; the users who have left zones; the blocks.
  private static let sharing = """
    CREATE TABLE holdfast_access (
      zone TEXT NOT NULL, user TEXT NOT NULL, role TEXT NOT NULL CHECK (role IN (\(Role.sqlList))), PRIMARY KEY (zone, user)
    ) WITHOUT ROWID;
    CREATE INDEX holdfast_access_of_user ON holdfast_access (user, role);
    CREATE TABLE holdfast_invitations (
      zone TEXT NOT NULL, id TEXT NOT NULL, token_hash BLOB NOT NULL UNIQUE,
      role TEXT NOT NULL CHECK (role IN (\(Role.sqlList))), inviter TEXT NOT NULL, expires_at INTEGER NOT NULL,
      uses INTEGER NOT NULL CHECK (uses >= 0), PRIMARY KEY (zone, id)
    ) WITHOUT ROWID;
    CREATE INDEX holdfast_invitations_of_inviter ON holdfast_invitations (inviter);
    CREATE TABLE holdfast_left (zone TEXT NOT NULL, user TEXT NOT NULL, PRIMARY KEY (zone, user)) WITHOUT ROWID;
    CREATE INDEX holdfast_left_of_user ON holdfast_left (user);
    CREATE TABLE holdfast_blocks (
      user TEXT NOT NULL, blocked TEXT NOT NULL, PRIMARY KEY (user, blocked), CHECK (user <> blocked)
    ) WITHOUT ROWID;
    CREATE INDEX holdfast_blocks_of_blocked ON holdfast_blocks (blocked);
    """

  /// The data of a restored server: each record's state at the restore, its recovered state, the claimed seqs, the key of the proofs, and
  /// the claims.
  private static let restoring = """
    CREATE TABLE holdfast_recovered_records (
      zone TEXT NOT NULL, record_table TEXT NOT NULL, id TEXT NOT NULL, rev INTEGER NOT NULL, seq INTEGER NOT NULL,
      deleted INTEGER NOT NULL, base INTEGER NOT NULL DEFAULT 0 CHECK (base >= 0),
      PRIMARY KEY (zone, record_table, id), CHECK (rev >= 0 AND seq >= 0 AND deleted IN (0, 1))
    ) WITHOUT ROWID;
    CREATE TABLE holdfast_claimed_seqs (zone TEXT PRIMARY KEY, seq INTEGER NOT NULL CHECK (seq >= 0)) WITHOUT ROWID;
    CREATE TABLE holdfast_keys (name TEXT PRIMARY KEY, key BLOB NOT NULL CHECK (length(key) > 0)) WITHOUT ROWID;
    CREATE TABLE holdfast_zone_claims (
      zone TEXT NOT NULL, user TEXT NOT NULL, role TEXT NOT NULL, proven INTEGER NOT NULL, epochs_ago INTEGER NOT NULL,
      seq INTEGER NOT NULL, device INTEGER NOT NULL, records INTEGER NOT NULL, at INTEGER NOT NULL,
      state INTEGER NOT NULL, PRIMARY KEY (zone, user),
      CHECK ((role = '' OR role IN (\(Role.sqlList))) AND proven IN (0, 1) AND state IN (0, 1, 2))
    ) WITHOUT ROWID;
    CREATE INDEX holdfast_zone_claims_of_user ON holdfast_zone_claims (user);
    """
}
