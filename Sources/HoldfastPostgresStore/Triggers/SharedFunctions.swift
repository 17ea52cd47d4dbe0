import HoldfastService

/// The functions that the triggers of all tables share.
enum SharedFunctions {
  /// The SQL of the shared functions.
  ///
  /// - `escape_word(name)` encodes a name for a notification, and `notify_nodes(words)` sends words to all servers; see
  ///   `ZoneChanges.payloads`.
  /// - `now()` is the database's clock as a stamp.
  /// - `expect(taken, wanted, of)` fails if the service wrote another number of records than intended.
  /// - `expect_place(kept, of)` fails if a trigger of the team has given records another id or zone than the service.
  /// - `overtaken()` fails: another transaction has changed what the service relies on.
  /// - `has_left(database)` fails: a zone has moved to another database.
  /// - `stamp_text(stamp)` and `mark(rev, stamp)` encode a stamp for the column `stamps` of the ledger.
  /// - `lock_zones(zones)` locks zones in the order of their names, and returns the sum of their seqs. The sum shows whether one of them
  ///   has changed since the records were read. It fails if one of them has moved to another database.
  /// - `require_read_committed(what)` fails in a transaction whose statements all see one snapshot.
  /// - `account_home()` is the user that `holdfast.account` names.
  static let all = """
    CREATE OR REPLACE FUNCTION holdfast.escape_word(name text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
      SELECT \(ZoneChanges.escapes.reduce("replace(name, '%', '%25')") { "replace(\($0), '\($1.0)', '\($1.1)')" })
    $$;
    CREATE OR REPLACE FUNCTION holdfast.now() RETURNS bigint LANGUAGE sql VOLATILE
      SET search_path = pg_catalog, pg_temp AS $$
      SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint << 16
    $$;
    CREATE OR REPLACE FUNCTION holdfast.expect(taken bigint, wanted bigint, of text) RETURNS void LANGUAGE plpgsql VOLATILE
      SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      IF taken <> wanted THEN
        RAISE EXCEPTION 'the database took % of % records of %', taken, wanted, of USING ERRCODE = 'check_violation', TABLE = of,
          HINT = 'A rule, a trigger that returns NULL, or row-level security has passed the others over.';
      END IF;
    END $$;
    CREATE OR REPLACE FUNCTION holdfast.expect_place(kept boolean, of text) RETURNS void LANGUAGE plpgsql VOLATILE
      SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      IF NOT kept THEN
        RAISE EXCEPTION 'a trigger has changed the id or the zone of records of %', of USING ERRCODE = 'check_violation', TABLE = of,
          HINT = 'A trigger may change other columns of NEW.';
      END IF;
    END $$;
    CREATE OR REPLACE FUNCTION holdfast.overtaken() RETURNS bigint LANGUAGE plpgsql VOLATILE
      SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      RAISE EXCEPTION 'another transaction was first' USING ERRCODE = 'serialization_failure';
    END $$;
    CREATE OR REPLACE FUNCTION holdfast.stamp_text(stamp bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
      SELECT '.' || lpad(to_hex(stamp), 16, '0') || '.0'
    $$;
    CREATE OR REPLACE FUNCTION holdfast.mark(rev bigint, stamp bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
      SELECT rev || holdfast.stamp_text(stamp)
    $$;
    CREATE OR REPLACE FUNCTION holdfast.has_left(database text) RETURNS numeric LANGUAGE plpgsql VOLATILE
      SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      RAISE EXCEPTION 'a zone has moved to the database %', database
        USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Write to that database.';
    END $$;
    CREATE OR REPLACE FUNCTION holdfast.lock_zones(zones text[]) RETURNS numeric LANGUAGE sql VOLATILE
      SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
      SELECT CASE WHEN max(held.left_for) IS NULL THEN sum(held.seq) ELSE holdfast.has_left(max(held.left_for)) END FROM (
        SELECT z.seq, z.left_for FROM holdfast.zones z WHERE z.zone = ANY (zones) ORDER BY z.zone FOR NO KEY UPDATE
      ) held
    $$;
    CREATE OR REPLACE FUNCTION holdfast.require_read_committed(what text) RETURNS void LANGUAGE plpgsql VOLATILE
      SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        RAISE EXCEPTION '% needs the isolation level READ COMMITTED', what
          USING ERRCODE = 'feature_not_supported', HINT = 'Say BEGIN ISOLATION LEVEL READ COMMITTED.';
      END IF;
    END $$;
    CREATE OR REPLACE FUNCTION holdfast.account_home() RETURNS text LANGUAGE plpgsql STABLE
      SET search_path = pg_catalog, pg_temp AS $$
    DECLARE
      home text := nullif(current_setting('holdfast.account', true), '');
    BEGIN
      IF home IS NOT NULL AND NOT EXISTS (SELECT FROM holdfast.accounts a WHERE a.id = home AND a.erasure = 0) THEN
        RAISE EXCEPTION 'holdfast.account names no account: %', home
          USING ERRCODE = 'foreign_key_violation', HINT = 'Take an id of holdfast.accounts.';
      END IF;
      IF home IS NOT NULL AND EXISTS (SELECT FROM (SELECT account FROM holdfast.guests) g WHERE g.account = home) THEN
        RAISE EXCEPTION 'holdfast.account names a guest, who has no zone of the own here: %', home
          USING ERRCODE = 'foreign_key_violation', HINT = 'Write to the home of the user: docs/DIRECTORY.md.';
      END IF;
      RETURN home;
    END $$;
    CREATE OR REPLACE FUNCTION holdfast.notify_nodes(words text[]) RETURNS void LANGUAGE plpgsql VOLATILE
      SET search_path = pg_catalog, pg_temp AS $$
    DECLARE
      payload text;
    BEGIN
      IF cardinality(words) > 500 OR EXISTS (SELECT FROM unnest(words) w WHERE octet_length(w) > 900) THEN
        PERFORM pg_notify('holdfast', '0 *');
        RETURN;
      END IF;
      -- A notification has less than 8,000 bytes.
      FOR payload IN SELECT string_agg(w.word, ' ' ORDER BY w.place) FROM (
          SELECT u.word, u.place, sum(octet_length(u.word) + 1) OVER (ORDER BY u.place) AS size
          FROM unnest(words) WITH ORDINALITY u (word, place)) w
        GROUP BY div(w.size, 7000) LOOP
        PERFORM pg_notify('holdfast', '0 ' || payload);
      END LOOP;
    END $$;

    """
}
