import HoldfastCore
import HoldfastService

/// The function that settles records of a table.
struct SettleFunction {
  let tables: TriggerTables

  /// The function that settles records of a table: `settle(ids, changed)`.
  ///
  /// A record that is only in the table is created, or restored one rev above its tombstone. A record that is only in the ledger is
  /// deleted. A record in another zone is moved, with all its children. Of a record in the same zone `changed` says what has changed:
  /// - `all`: each column, because it was replaced,
  /// - `stamped`: the columns that have new stamps,
  /// - `place`: nothing.
  ///
  /// One statement reads tables, ledger and the zones' seqs. Its result is valid if no zone's seq has changed before the zone's lock is
  /// acquired.
  func sql(of index: Int) -> String {
    let source = tables.zoneSource(index)
    let relation = tables.relations[index]
    let id = relation.id
    // Entries of the conflict log do not count as records.
    let weight = tables.schema.tables[index].name == TableSchema.conflicts.name ? 0 : 1
    return TriggerFunction.sql(
      "\(tables.function(index, "settle"))(ids text[], changed text)", returns: "void",
      settings: tables.keyed,
      declare: [
        "now bigint := holdfast.now()", "is_whole boolean := changed = 'all'",
        "is_changed boolean := changed <> 'place'", "keys text[]", "stand boolean[]", "places text[]",
        "former text[]",
        "states smallint[]", "revs bigint[]", "marks text[]", "sizes bigint[]", "helds bigint[]",
        "zones text[]", "seqs numeric", "homes text[]", "counts bigint[]", "grown bigint[]", "moved text[]",
        "made text[]", "tombstoned text[]",
      ]
        + (tables.isUsers(index) || tables.schema.tables[index].zone == .root
          ? ["home text := holdfast.account_home()"] : []),
      """
        IF coalesce(cardinality(ids), 0) = 0 THEN
          RETURN;
        END IF;
        IF EXISTS (SELECT FROM unnest(ids) i WHERE octet_length(i) NOT BETWEEN 1 AND 64) THEN
          RAISE EXCEPTION 'an id of \(tables.schema.tables[index].name) is empty or has more than 64 bytes'
            USING ERRCODE = 'check_violation';
        END IF;
        LOOP
          WITH found AS MATERIALIZED (
            SELECT s.id, t.\(id.quoted) IS NOT NULL AS stands, \(source.zone) AS zone, l.zone AS former, l.state, l.rev, l.stamps,
              \(relation.size("t", of: tables.schema.tables[index])) AS size, l.size AS held
            FROM unnest(ids) s (id)
            LEFT JOIN LATERAL (SELECT a.* FROM \(relation.relation) a WHERE a.\(id.quoted) = \(id.key("s.id")) OFFSET 0) t ON true\(source.joins)
            LEFT JOIN LATERAL (SELECT r.zone, r.state, r.rev, r.stamps, r.size FROM holdfast.records r
              WHERE r.record_table = \(tables.name(index)) AND r.id = s.id AND r.state < 2 ORDER BY r.state LIMIT 1) l ON true
          ), place AS MATERIALIZED (
            SELECT f.zone FROM found f WHERE f.stands UNION SELECT f.former FROM found f WHERE f.former IS NOT NULL
          )
          SELECT array_agg(f.id), array_agg(f.stands), array_agg(f.zone), array_agg(f.former), array_agg(f.state),
            array_agg(f.rev), array_agg(f.stamps), array_agg(f.size), array_agg(f.held),
            array_agg(f.id) FILTER (WHERE f.stands AND f.state = 0 AND f.former <> f.zone),
            array_agg(f.id) FILTER (WHERE f.stands AND is_whole AND f.former IS NULL),
            array_agg(f.id) FILTER (WHERE f.stands AND f.state = 1 AND f.former <> f.zone),
            (SELECT array_agg(p.zone) FROM place p),
            (SELECT sum(z.seq) FROM place p, LATERAL (SELECT h.seq FROM holdfast.zones h WHERE h.zone = p.zone OFFSET 0) z)
            INTO keys, stand, places, former, states, revs, marks, sizes, helds, moved, made, tombstoned, zones, seqs FROM found f;
      \(complaint(index))\(taken(index))\(makeZones(index))    EXIT WHEN holdfast.lock_zones(zones) IS NOT DISTINCT FROM seqs;
        END LOOP;
        IF tombstoned IS NOT NULL THEN
          UPDATE holdfast.records l SET state = 2 FROM (
            SELECT r.tid FROM unnest(tombstoned) u (id), LATERAL (SELECT r.ctid AS tid FROM holdfast.records r
              WHERE r.record_table = \(tables.name(index)) AND r.id = u.id AND r.state = 1 OFFSET 0) r
          ) k WHERE l.ctid = k.tid;
        END IF;
        INSERT INTO holdfast.records (zone, seq, record_table, id, rev, state, stamps, stamp, device, deleted_seq, size)
        SELECT e.zone, e.seq, \(tables.name(index)), e.id, e.rev, e.state,
          CASE WHEN e.state = 0 THEN coalesce(e.stamps, holdfast.mark(e.rev, e.stamp)) END,
          CASE WHEN e.state > 0 THEN e.stamp END, CASE WHEN e.state > 0 THEN 0 END, CASE WHEN e.state > 0 THEN e.seq END,
          CASE WHEN e.state = 0 THEN e.size ELSE 0 END
        FROM (
          SELECT n.id, n.zone, n.state, n.rev, n.stamps, n.size, max(n.base) OVER w + n.place AS seq,
            max(n.stamp) OVER w AS stamp
          FROM (\(LedgerFunctions.numbered(
            """
            SELECT s.id, e.zone, e.state, s.size, coalesce(s.rev, 0) + 1 AS rev, CASE WHEN s.state = 0 AND (s.former <> s.zone OR NOT is_whole) THEN s.stamps END AS stamps
            FROM unnest(keys, stand, places, former, states, revs, marks, sizes) s (id, stands, zone, former, state, rev, stamps, size)
            CROSS JOIN LATERAL (
              SELECT 0 AS state, s.zone WHERE s.stands AND (s.state IS DISTINCT FROM 0 OR s.former <> s.zone OR is_changed)
              UNION ALL SELECT CASE WHEN s.stands THEN 2 ELSE 1 END, s.former
              WHERE s.state = 0 AND (NOT s.stands OR s.former <> s.zone)
            ) e WHERE is_whole OR s.former IS NOT NULL
            """
          ))) n WINDOW w AS (PARTITION BY n.zone)
        ) e
        ON CONFLICT (record_table, id, zone) DO UPDATE SET seq = excluded.seq, rev = excluded.rev,
          state = excluded.state, stamps = excluded.stamps, stamp = excluded.stamp, device = excluded.device,
          deleted_seq = excluded.deleted_seq, size = excluded.size;
        SELECT array_agg(g.zone), array_agg(g.count), array_agg(g.size) INTO homes, counts, grown FROM (
          SELECT e.zone, sum(e.count)::bigint AS count, sum(e.size)::bigint AS size
          FROM unnest(stand, places, former, states, sizes, helds) s (stands, zone, former, state, size, held)
          CROSS JOIN LATERAL (
            SELECT s.zone, \(weight) AS count, s.size WHERE s.stands AND (s.state IS DISTINCT FROM 0 OR s.former <> s.zone OR is_changed)
            UNION ALL SELECT s.former, -\(weight), -s.held
            WHERE s.state = 0 AND (NOT s.stands OR s.former <> s.zone OR is_changed)
          ) e WHERE is_whole OR s.former IS NOT NULL GROUP BY e.zone
        ) g;
        PERFORM holdfast.advance(homes, counts, grown, now);
      \(follow(index))\(TriggerChecks(tables: tables).check(index, "ids"))\(owner(index))
      """)
  }

  /// The error for records without a zone.
  private func complaint(_ index: Int) -> String {
    if tables.makesZones(index) && tables.isPlain(index) { return "" }
    let (what, hint) =
      switch tables.schema.tables[index].zone {
      case .user:
        (
          "it is not said whose they are",
          "Say SET holdfast.account = ''ID'' with an id of holdfast.accounts."
        )
      case .parent:
        ("the record that they are under is not there", "Insert it before, or in the same statement.")
      case .explicit, .server, .root, .public: ("there is no such zone", "Take a zone of holdfast.zones.")
      }
    let isNowhere =
      tables.makesZones(index)
      ? "array_position(zones, NULL) IS NOT NULL"
      : "EXISTS (SELECT FROM unnest(zones) p (zone) WHERE NOT EXISTS (SELECT FROM holdfast.zones z WHERE z.zone = p.zone))"
    return """
          IF \(isNowhere) THEN
            RAISE EXCEPTION 'records of \(tables.schema.tables[index].name) have no zone: \(what)'
              USING ERRCODE = 'foreign_key_violation', HINT = '\(hint)';
          END IF;

      """
  }

  /// The error for a root record whose id names an existing zone: a user's, a public one, or that of a record of another table.
  /// It may be deleted: its members are there.
  private func taken(_ index: Int) -> String {
    guard tables.schema.tables[index].zone == .root else { return "" }
    let others = tables.schema.tables.indices.filter { $0 != index && tables.schema.tables[$0].zone == .root }
    let another =
      others.isEmpty
      ? ""
      : """

              OR EXISTS (SELECT FROM holdfast.records r WHERE r.record_table IN (\(others.map { tables.name($0) }.joined(separator: ", ")))
                AND r.id = s.id)
      """
    return """
          IF EXISTS (SELECT FROM unnest(keys, stand, states) s (id, stands, state)
            WHERE s.stands AND s.state IS DISTINCT FROM 0 AND (
              EXISTS (SELECT FROM holdfast.zones z WHERE z.zone = s.id AND z.public)
              OR EXISTS (SELECT FROM holdfast.accounts a WHERE a.id = s.id)\(another))) THEN
            RAISE EXCEPTION 'an id of \(tables.schema.tables[index].name) names a zone that is another''s'
              USING ERRCODE = 'unique_violation', HINT = 'Leave the id to the database, or take another.';
          END IF;

      """
  }

  /// Creates the zones of new root records. In a transaction, a child may come before its root; its foreign key decides at the commit.
  private func makeZones(_ index: Int) -> String {
    guard tables.makesZones(index) else { return "" }
    return """
          INSERT INTO holdfast.zones (zone, seq) SELECT p.zone, 0 FROM unnest(zones) p (zone)
            WHERE NOT EXISTS (SELECT FROM holdfast.zones z WHERE z.zone = p.zone) ON CONFLICT DO NOTHING;

      """
  }

  /// Moves the children of moved records along, and corrects the column `zone` if there is one.
  private func follow(_ index: Int) -> String {
    let relation = tables.relations[index]
    let id = relation.id
    var sql = ""
    if relation.hasZone, !tables.isPlain(index) {
      sql += """
          PERFORM set_config('holdfast.service', 'on', true);
          UPDATE \(relation.relation) t SET "zone" = k.zone FROM (
            SELECT a.tid, u.zone FROM unnest(keys, stand, places) u (id, stands, zone), LATERAL (
              SELECT a.ctid AS tid FROM \(relation.relation) a WHERE a.\(id.quoted) = \(id.key("u.id")) AND a."zone" <> u.zone OFFSET 0) a
            WHERE u.stands
          ) k WHERE t.ctid = k.tid;
          PERFORM set_config('holdfast.service', '', true);

        """
    }
    let children = tables.children(of: index)
    if children.isEmpty { return sql }
    sql += "  IF moved IS NOT NULL THEN\n"
    for (child, column) in children {
      sql += """
            PERFORM \(tables.function(child, "settle"))(ARRAY(SELECT \(tables.relations[child].id.id("t"))
              FROM \(tables.relations[child].relation) t WHERE t.\(column.quoted) = ANY (\(column.keys("moved")))), 'place');

        """
    }
    return sql + "  END IF;\n"
  }

  /// Makes `holdfast.account` the owner of the zones of new root records.
  private func owner(_ index: Int) -> String {
    guard tables.schema.tables[index].zone == .root,
      let members = tables.schema.index(of: TableSchema.members.name)
    else {
      return ""
    }
    return """
        IF home IS NOT NULL AND made IS NOT NULL THEN
          PERFORM set_config('holdfast.service', 'on', true);
          WITH joined AS (
            INSERT INTO holdfast.members (zone, "user", name, role)
            SELECT m.id, home, a.name, 'owner' FROM unnest(made) m (id), holdfast.accounts a WHERE a.id = home
            ON CONFLICT (zone, "user") DO NOTHING RETURNING id, zone
          ), granted AS (
            INSERT INTO holdfast.access (zone, "user", role) SELECT j.zone, home, 'owner' FROM joined j
            ON CONFLICT (zone, "user") DO UPDATE SET role = 'owner'
          ) SELECT array_agg(j.id) INTO moved FROM joined j;
          PERFORM set_config('holdfast.service', '', true);
          PERFORM \(tables.function(members, "settle"))(moved, 'all');
        END IF;

      """
  }
}
