import HoldfastService

/// The functions that those of all tables use.
enum SharedFunctions {
  /// What the functions of all tables use.
  ///
  /// - `now()` is the database's clock as a stamp.
  /// - `hold(zones)` locks zones in the order of their names and gives the sum of their seqs: as long as it is what it was when the records
  ///   were looked up, none of them has moved meanwhile.
  /// - `expect(taken, wanted, of)` fails when the service wrote another number of records than it meant to.
  /// - `account_home()` is the user whom `holdfast.account` names.
  /// - `word(name)` is a name as it stands in a notification, and `tell(words)` sends words to all servers; see `ZoneChanges.payloads`.
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
        RAISE EXCEPTION 'the database took % of % records of %', taken, wanted, of USING ERRCODE = 'check_violation',
          HINT = 'A rule, a trigger that returns NULL, or row-level security has passed the others over.';
      END IF;
    END $$;
    CREATE OR REPLACE FUNCTION holdfast.stamp_text(stamp bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
      SELECT '.' || lpad(to_hex(stamp), 16, '0') || '.0'
    $$;
    CREATE OR REPLACE FUNCTION holdfast.mark(rev bigint, stamp bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
      SELECT rev || holdfast.stamp_text(stamp)
    $$;
    CREATE OR REPLACE FUNCTION holdfast.lock_zones(zones text[]) RETURNS numeric LANGUAGE sql VOLATILE
      SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
      SELECT sum(held.seq) FROM (
        SELECT z.seq FROM holdfast.zones z WHERE z.zone = ANY (zones) ORDER BY z.zone FOR NO KEY UPDATE
      ) held
    $$;
    CREATE OR REPLACE FUNCTION holdfast.account_home() RETURNS text LANGUAGE plpgsql STABLE
      SET search_path = pg_catalog, pg_temp AS $$
    DECLARE
      home text := nullif(current_setting('holdfast.account', true), '');
    BEGIN
      IF home IS NOT NULL AND NOT EXISTS (SELECT FROM holdfast.accounts a WHERE a.id = home AND a.erasure = 0) THEN
        RAISE EXCEPTION 'holdfast.account names no account: %', home
          USING ERRCODE = 'foreign_key_violation', HINT = 'Take an id of holdfast.accounts.';
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
