import HoldfastCore

extension PostgresTriggers {
  /// The function that settles records of a table: `settle(ids, is_whole)`.
  ///
  /// What is in the table and not in the ledger is created, or lives again one rev above its tombstone; what is in the ledger alone has been
  /// deleted; what is in another zone has moved, and all that is under it. With `is_whole` a record that stands where it stood counts as
  /// changed in all columns: it was replaced.
  func settle(_ index: Int) -> String {
    let source = zoneSource(index)
    let relation = relations[index]
    let truth = """
      SELECT s.id, t.\(relation.id.quoted) IS NOT NULL AS stands, \(source.zone) AS zone
        FROM unnest(ids) s (id) LEFT JOIN \(relation.relation) t ON t.\(relation.id.quoted) = \(relation.id.key("s.id"))\(source.joins)
      """
    let ledger = "l.record_table = \(name(index)) AND l.id = s.id AND l.state < 2"
    return function(
      "\(function(index, "settle"))(ids text[], is_whole boolean)", returns: "void",
      declare: [
        "now bigint := holdfast.now()", "zones text[]", "seqs numeric", "moved text[]", "made text[]",
      ]
        + (isUsers(index) || schema.tables[index].zone == .root
          ? ["home text := holdfast.account_home()"] : []),
      """
        IF EXISTS (SELECT FROM unnest(ids) i WHERE octet_length(i) NOT BETWEEN 1 AND 64) THEN
          RAISE EXCEPTION 'an id of \(schema.tables[index].name) is empty or has more than 64 bytes'
            USING ERRCODE = 'check_violation';
        END IF;
      \(complaint(index, truth))\(makeZones(index, truth))  LOOP
          SELECT array_agg(z.zone), sum(z.seq) INTO zones, seqs FROM holdfast.zones z WHERE z.zone IN (
            SELECT s.zone FROM (\(truth)) s
            UNION ALL SELECT l.zone FROM unnest(ids) s (id) JOIN holdfast.records l ON \(ledger));
          EXIT WHEN holdfast.hold(zones) IS NOT DISTINCT FROM seqs;
        END LOOP;
        WITH event AS MATERIALIZED (
          SELECT s.id, e.zone, e.state, coalesce(l.rev, 0) + 1 AS rev, l.id IS NULL AS is_new,
            CASE WHEN l.state = 0 AND l.zone <> s.zone THEN l.stamps END AS stamps,
            z.seq + row_number() OVER (PARTITION BY e.zone ORDER BY s.id) AS seq, greatest(now, z.clock + 1) AS stamp
          FROM (\(truth)) s LEFT JOIN holdfast.records l ON \(ledger)
          CROSS JOIN LATERAL (
            SELECT 0 AS state, s.zone WHERE s.stands AND (l.state IS DISTINCT FROM 0 OR l.zone <> s.zone OR is_whole)
            UNION ALL SELECT CASE WHEN s.stands THEN 2 ELSE 1 END, l.zone
            WHERE l.state = 0 AND (NOT s.stands OR l.zone <> s.zone)
          ) e JOIN holdfast.zones z ON z.zone = e.zone
          WHERE is_whole OR l.id IS NOT NULL
        ), elsewhere AS (
          UPDATE holdfast.records l SET state = 2 FROM event e
          WHERE e.state = 0 AND l.record_table = \(name(index)) AND l.id = e.id AND l.state = 1 AND l.zone <> e.zone
        ), written AS (
          INSERT INTO holdfast.records
            (zone, seq, record_table, id, rev, state, stamps, stamp, device, deleted_seq)
          SELECT e.zone, e.seq, \(name(index)), e.id, e.rev, e.state,
            CASE WHEN e.state = 0 THEN coalesce(e.stamps, holdfast.mark(e.rev, e.stamp)) END,
            CASE WHEN e.state > 0 THEN e.stamp END, CASE WHEN e.state > 0 THEN 0 END,
            CASE WHEN e.state > 0 THEN e.seq END FROM event e
          ON CONFLICT (record_table, id, zone) DO UPDATE SET seq = excluded.seq, rev = excluded.rev,
            state = excluded.state, stamps = excluded.stamps, stamp = excluded.stamp, device = excluded.device,
            deleted_seq = excluded.deleted_seq
        ) SELECT array_agg(e.id) FILTER (WHERE e.state = 2), array_agg(e.id) FILTER (WHERE e.is_new)
          INTO moved, made FROM event e;
        PERFORM holdfast.advance(zones, now);
      \(follow(index, truth))\(check(index, "ids"))\(owner(index))
      """)
  }

  /// What is said of records that belong nowhere.
  private func complaint(_ index: Int, _ truth: String) -> String {
    if makesZones(index) && isPlain(index) { return "" }
    let (what, hint) =
      switch schema.tables[index].zone {
      case .user:
        (
          "it is not said whose they are",
          "Say SET holdfast.account = ''ID'' with an id of holdfast.accounts."
        )
      case .parent:
        ("the record that they are under is not there", "Insert it before, or in the same statement.")
      case .explicit, .server, .root, .public: ("there is no such zone", "Take a zone of holdfast.zones.")
      }
    return """
        IF EXISTS (SELECT FROM (\(truth)) s WHERE s.stands AND \(
          makesZones(index)
            ? "s.zone IS NULL" : "NOT EXISTS (SELECT FROM holdfast.zones z WHERE z.zone = s.zone)")) THEN
          RAISE EXCEPTION 'records of \(schema.tables[index].name) have no zone: \(what)'
            USING ERRCODE = 'foreign_key_violation', HINT = '\(hint)';
        END IF;

      """
  }

  /// The zones of root records that are new. A child may come before its root in a transaction: its foreign key says whether it may stay.
  private func makeZones(_ index: Int, _ truth: String) -> String {
    guard makesZones(index) else { return "" }
    return """
        INSERT INTO holdfast.zones (zone, seq) SELECT DISTINCT s.zone, 0 FROM (\(truth)) s
          WHERE s.stands AND NOT EXISTS (SELECT FROM holdfast.zones z WHERE z.zone = s.zone) ON CONFLICT DO NOTHING;

      """
  }

  /// Takes along what is under records that moved, and keeps the column `zone` right where there is one.
  private func follow(_ index: Int, _ truth: String) -> String {
    let relation = relations[index]
    var sql = ""
    if relation.hasZone, !isPlain(index) {
      sql += """
          PERFORM set_config('holdfast.service', 'on', true);
          UPDATE \(relation.relation) t SET "zone" = s.zone FROM (\(truth)) s
            WHERE s.stands AND t.\(relation.id.quoted) = \(relation.id.key("s.id")) AND t."zone" <> s.zone;
          PERFORM set_config('holdfast.service', '', true);

        """
    }
    let children = children(of: index)
    if children.isEmpty { return sql }
    sql += "  IF moved IS NOT NULL THEN\n"
    for (child, column) in children {
      sql += """
            PERFORM \(function(child, "settle"))(ARRAY(SELECT \(relations[child].id.id("t"))
              FROM \(relations[child].relation) t JOIN unnest(moved) m (id) ON t.\(column.quoted) = \(column.key("m.id"))), false);

        """
    }
    return sql + "  END IF;\n"
  }

  /// Makes `holdfast.account` the owner of the zones of root records that are new.
  private func owner(_ index: Int) -> String {
    guard schema.tables[index].zone == .root, let members = schema.index(of: Table.members.name) else {
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
          PERFORM \(function(members, "settle"))(moved, true);
        END IF;

      """
  }
}
