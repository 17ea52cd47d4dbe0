import HoldfastService

/// The functions by which the triggers write the ledger: in bulk, with each row found by its key.
enum LedgerFunctions {
  /// See `TriggerTables.keyed`.
  static let keyed = """
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_material = off
      SET jit = off SET work_mem = '128MB'
    """

  /// Numbers the rows of a query with `zone` and `id` within each zone (`place`). Only the first row of each zone gets the zone's seq
  /// (`base`) and the stamp of a change (`stamp`): each zone is looked up once.
  static func numbered(_ rows: String) -> String {
    """
    SELECT c.*, CASE WHEN c.place = 1 THEN (SELECT z.seq FROM holdfast.zones z WHERE z.zone = c.zone) END AS base,
              CASE WHEN c.place = 1 THEN (SELECT greatest(now, z.clock + 1) FROM holdfast.zones z WHERE z.zone = c.zone) END AS stamp
            FROM (SELECT d.*, row_number() OVER (PARTITION BY d.zone ORDER BY d.id) AS place FROM (
              \(rows)
            ) d) c OFFSET 0
    """
  }

  /// The functions for all tables that write the ledger.
  ///
  /// - `advance(zones, counts, sizes, now)` updates the seqs of zones from the ledger, adds to their records and bytes, notifies the
  ///   nodes, and counts in `sql_writes`.
  /// - `locate(of, ids)` locks the zones of live records, and returns the zone of each.
  /// - `change(of, ids, places, names, sizes, now)` assigns records their next seqs and revs, and stamps the columns in `names`, which
  ///   bars separate. It returns the ids that are not live in the expected zone.
  /// - `tombstone_records(of, ids, places, now)` turns records into tombstones, and returns the ids that are not live in the expected
  ///   zone.
  /// - `restamp(of, ids, places, names, now)` stamps columns of records that are about to move. The stamps name the rev of the move.
  static let all = """
    CREATE OR REPLACE FUNCTION holdfast.advance(zones text[], counts bigint[], sizes bigint[], now bigint) RETURNS void LANGUAGE plpgsql VOLATILE
      SET search_path = pg_catalog, pg_temp \(keyed) SET plan_cache_mode = force_generic_plan AS $$
    DECLARE
      moved text[];
    BEGIN
      WITH given AS (
        UPDATE holdfast.zones z SET seq = k.seq, clock = greatest(now, z.clock + 1),
          records = greatest(0, z.records + coalesce(k.count, 0)), bytes = greatest(0, z.bytes + k.size)
        FROM (
          SELECT h.tid, l.seq, u.count, u.size FROM unnest(zones, counts, sizes) u (zone, count, size), LATERAL (
            SELECT r.seq FROM holdfast.records r WHERE r.zone = u.zone ORDER BY r.seq DESC LIMIT 1) l, LATERAL (
            SELECT h.ctid AS tid FROM holdfast.zones h WHERE h.zone = u.zone AND h.seq < l.seq OFFSET 0) h
        ) k WHERE z.ctid = k.tid RETURNING z.zone
      ) SELECT array_agg(holdfast.escape_word(g.zone) ORDER BY g.zone) INTO moved FROM given g;
      PERFORM holdfast.notify_nodes(moved);
      PERFORM nextval('holdfast.sql_writes');
    END $$;
    CREATE OR REPLACE FUNCTION holdfast.locate(of text, ids text[]) RETURNS text[] LANGUAGE plpgsql VOLATILE
      SET search_path = pg_catalog, pg_temp \(keyed) SET plan_cache_mode = force_generic_plan AS $$
    DECLARE
      places text[];
      zones text[];
      seqs numeric;
    BEGIN
      LOOP
        WITH found AS MATERIALIZED (
          SELECT u.place, l.zone FROM unnest(ids) WITH ORDINALITY u (id, place) LEFT JOIN LATERAL (
            SELECT r.zone FROM holdfast.records r WHERE r.record_table = of AND r.id = u.id AND r.state = 0 LIMIT 1) l ON true
        ), home AS MATERIALIZED (SELECT DISTINCT f.zone FROM found f WHERE f.zone IS NOT NULL)
        SELECT array_agg(f.zone ORDER BY f.place), (SELECT array_agg(h.zone) FROM home h),
          (SELECT sum(z.seq) FROM home p, LATERAL (SELECT h.seq FROM holdfast.zones h WHERE h.zone = p.zone OFFSET 0) z)
          INTO places, zones, seqs FROM found f;
        EXIT WHEN holdfast.lock_zones(zones) IS NOT DISTINCT FROM seqs;
      END LOOP;
      RETURN places;
    END $$;
    CREATE OR REPLACE FUNCTION holdfast.change(
        of text, ids text[], places text[], names text[], sizes bigint[], now bigint) RETURNS text[]
      LANGUAGE plpgsql VOLATILE
      SET search_path = pg_catalog, pg_temp \(keyed) SET plan_cache_mode = force_generic_plan AS $$
    DECLARE
      known bigint;
      homes text[];
      grown bigint[];
    BEGIN
      WITH written AS (
        UPDATE holdfast.records l SET seq = u.seq, rev = l.rev + 1, stamps = \(stamps), size = u.size
        FROM (
          SELECT n.tid, n.columns, n.size, n.held, max(n.base) OVER w + n.place AS seq,
            holdfast.stamp_text(max(n.stamp) OVER w) AS mark
          FROM (\(numbered(measured))) n WINDOW w AS (PARTITION BY n.zone)
        ) u WHERE l.ctid = u.tid RETURNING l.zone, u.size - u.held AS growth
      ), growth AS (
        SELECT w.zone, count(*) AS count, sum(w.growth)::bigint AS size FROM written w GROUP BY w.zone
      ) SELECT coalesce(sum(g.count), 0), array_agg(g.zone), array_agg(g.size) INTO known, homes, grown FROM growth g;
      PERFORM holdfast.advance(homes, NULL, grown, now);
      IF known = cardinality(ids) THEN
        RETURN NULL;
      END IF;
      RETURN ARRAY(SELECT n.id FROM unnest(ids, places) n (id, zone) WHERE NOT EXISTS (
        SELECT FROM holdfast.records r WHERE r.record_table = of AND r.id = n.id AND r.zone = n.zone AND r.state = 0));
    END $$;
    CREATE OR REPLACE FUNCTION holdfast.tombstone_records(of text, ids text[], places text[], now bigint) RETURNS text[]
      LANGUAGE plpgsql VOLATILE
      SET search_path = pg_catalog, pg_temp \(keyed) SET plan_cache_mode = force_generic_plan AS $$
    DECLARE
      known bigint;
      homes text[];
      counts bigint[];
      grown bigint[];
    BEGIN
      WITH written AS (
        UPDATE holdfast.records l SET seq = u.seq, rev = l.rev + 1, state = 1, stamps = NULL, stamp = u.stamp, device = 0,
          deleted_seq = u.seq, size = 0
        FROM (
          SELECT n.tid, n.held, max(n.base) OVER w + n.place AS seq, max(n.stamp) OVER w AS stamp
          FROM (\(numbered(live))) n WINDOW w AS (PARTITION BY n.zone)
        ) u WHERE l.ctid = u.tid RETURNING l.zone, u.held
      ), shrunk AS (
        SELECT w.zone, count(*) AS count, sum(w.held)::bigint AS size FROM written w GROUP BY w.zone
      ) SELECT coalesce(sum(s.count), 0), array_agg(s.zone), array_agg(CASE WHEN of = 'conflicts' THEN 0 ELSE -s.count END), array_agg(-s.size)
        INTO known, homes, counts, grown FROM shrunk s;
      PERFORM holdfast.advance(homes, counts, grown, now);
      IF known = cardinality(ids) THEN
        RETURN NULL;
      END IF;
      RETURN ARRAY(SELECT n.id FROM unnest(ids, places) n (id, zone) WHERE NOT EXISTS (
        SELECT FROM holdfast.records r WHERE r.record_table = of AND r.id = n.id AND r.zone = n.zone AND r.state = 1));
    END $$;
    CREATE OR REPLACE FUNCTION holdfast.restamp(of text, ids text[], places text[], names text[], now bigint) RETURNS void
      LANGUAGE plpgsql VOLATILE
      SET search_path = pg_catalog, pg_temp \(keyed) SET plan_cache_mode = force_generic_plan AS $$
    BEGIN
      UPDATE holdfast.records l SET stamps = \(stamps)
      FROM (
        SELECT n.tid, n.columns, holdfast.stamp_text(max(n.stamp) OVER w) AS mark
        FROM (\(numbered("\(found) WHERE n.columns <> ''"))) n WINDOW w AS (PARTITION BY n.zone)
      ) u WHERE l.ctid = u.tid;
    END $$;

    """

  /// The live records of `ids` that are in the zones `places`, with their counted sizes.
  private static let live = """
    SELECT n.id, n.zone, k.tid, k.held FROM unnest(ids, places) n (id, zone), LATERAL (
                SELECT r.ctid AS tid, r.size AS held FROM holdfast.records r
                WHERE r.record_table = of AND r.id = n.id AND r.zone = n.zone AND r.state = 0 OFFSET 0) k
    """

  /// The same, with the columns of `names`.
  private static let found = """
    SELECT n.id, n.zone, n.columns, k.tid FROM unnest(ids, places, names) n (id, zone, columns), LATERAL (
                SELECT r.ctid AS tid FROM holdfast.records r
                WHERE r.record_table = of AND r.id = n.id AND r.zone = n.zone AND r.state = 0 OFFSET 0) k
    """

  /// The same, with their new and counted sizes.
  private static let measured = """
    SELECT n.id, n.zone, n.columns, n.size, k.tid, k.held FROM unnest(ids, places, names, sizes) n (id, zone, columns, size), LATERAL (
                SELECT r.ctid AS tid, r.size AS held FROM holdfast.records r
                WHERE r.record_table = of AND r.id = n.id AND r.zone = n.zone AND r.state = 0 OFFSET 0) k
    """

  /// The stamps of a record `l`, with those of the columns `u.columns` replaced. The regular expression handles only what simpler functions
  /// cannot.
  private static let stamps = """
    CASE
            WHEN strpos(l.stamps, ';') = 0 THEN l.stamps
            WHEN split_part(l.stamps, ';', 3) = '' AND split_part(split_part(l.stamps, ';', 2), '=', 1) = u.columns
              THEN split_part(l.stamps, ';', 1)
            ELSE regexp_replace(l.stamps, ';(' || u.columns || ')=[^;]*', '', 'g') END
            || ';' || CASE WHEN strpos(u.columns, '|') = 0 THEN u.columns
              ELSE replace(u.columns, '|', '=' || (l.rev + 1) || u.mark || ';') END || '=' || (l.rev + 1) || u.mark
    """
}
