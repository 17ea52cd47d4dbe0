package import HoldfastCore
package import HoldfastService

/// Updates access after plain SQL has changed members: docs/SHARING.md, section 1.
struct AccessFunction {
  let tables: TriggerTables

  /// `grant_access(wanted)` recomputes access to zones, and to the zones that name them as groups. It marks losses in the acks, so that the
  /// user's devices resync a zone that the user regains. It notifies all affected users.
  ///
  /// It reads members that others may have changed since the snapshot of an older transaction, without a change of a zone that this
  /// transaction locks. So it needs READ COMMITTED. The groups' rows are written, so that an older transaction that deletes a group, and
  /// does not see that it is one, fails at its lock.
  var sql: String {
    return TriggerFunction.sql(
      "holdfast.grant_access(wanted text[])", returns: "void",
      declare: ["concerned text[]", "notified text[]"],
      """
        IF cardinality(wanted) = 0 THEN
          RETURN;
        END IF;
        PERFORM holdfast.require_read_committed('a change of members or groups');
        -- The groups are held, too: who joins one of them now waits, and finds the zones that name it.
        PERFORM holdfast.lock_zones(wanted || ARRAY(SELECT m.zone FROM holdfast.members m WHERE m."group" = ANY (wanted))
          || ARRAY(SELECT m."group" FROM holdfast.members m WHERE m.zone = ANY (wanted) AND m."group" IS NOT NULL));
        \(Self.touch("SELECT m.\"group\" FROM holdfast.members m WHERE m.zone = ANY (wanted) AND m.\"group\" IS NOT NULL"));
        concerned := wanted || ARRAY(SELECT m.zone FROM holdfast.members m WHERE m."group" = ANY (wanted));
        WITH due AS MATERIALIZED (
          SELECT q.zone, q.account, \(AccessQuery.role(of: "q.level")) AS role FROM (
            \(AccessQuery(tables.schema).due(where: "m.zone = ANY (concerned)"))
          ) q
        ), gone AS (
          DELETE FROM holdfast.access a WHERE a.zone = ANY (concerned)
            AND NOT EXISTS (SELECT FROM due d WHERE d.zone = a.zone AND d.account = a."user") RETURNING a.zone, a."user" AS account
        ), acked AS (
          UPDATE holdfast.acks k SET lost = true FROM gone g JOIN holdfast.devices d ON d.account = g.account
          WHERE k.zone = g.zone AND k.device = d.number
        ), counted AS (
          UPDATE holdfast.accounts a SET losses = a.losses + l.sum FROM (
            SELECT g.account, sum(z.seq + 2) AS sum FROM gone g JOIN holdfast.zones z ON z.zone = g.zone GROUP BY g.account
          ) l WHERE a.id = l.account
        ), given AS (
          INSERT INTO holdfast.access AS a (zone, "user", role) SELECT d.zone, d.account, d.role FROM due d
          ON CONFLICT (zone, "user") DO UPDATE SET role = excluded.role WHERE a.role <> excluded.role RETURNING a."user" AS account
        ) SELECT array_agg(DISTINCT '@' || holdfast.escape_word(u.account)) INTO notified
          FROM (SELECT g.account FROM gone g UNION ALL SELECT g.account FROM given g) u;
        PERFORM holdfast.notify_nodes(notified);
      """)
  }

  /// Writes the rows of zones as they are. A transaction with an older snapshot then can't lock them.
  static func touch(_ zones: String) -> String {
    "UPDATE holdfast.zones z SET clock = z.clock WHERE z.zone IN (\(zones))"
  }

  /// The call for the rows of a statement: members, and root records of zones that are groups.
  func call(_ index: Int, _ rows: String) -> String {
    switch tables.schema.tables[index].zone {
    case .explicit:
      "  PERFORM holdfast.grant_access(ARRAY(SELECT DISTINCT m.zone FROM \(rows) m));\n"
    case .root: groups(among: "SELECT \(tables.relations[index].id.id("r")) AS id FROM \(rows) r")
    case .user, .parent, .public, .server: ""
    }
  }

  /// The call for an UPDATE. Of root records, those alone count that appeared or disappeared; the variable `gone` has them.
  func call(afterUpdate index: Int) -> String {
    tables.schema.tables[index].zone == .root
      ? groups(among: "SELECT u.id FROM unnest(gone) u (id)") : call(index, "holdfast_new")
  }

  /// The call for the zones that are groups among root records.
  ///
  /// - Parameter ids: a query of the records' `id`.
  private func groups(among ids: String) -> String {
    """
      IF EXISTS (SELECT FROM holdfast.members m WHERE m."group" IS NOT NULL) THEN
        PERFORM holdfast.grant_access(ARRAY(SELECT DISTINCT m."group" FROM (\(ids)) r, LATERAL (
          SELECT a."group" FROM holdfast.members a WHERE a."group" = r.id OFFSET 0) m));
      END IF;

    """
  }
}

extension AccessQuery {
  /// The query over PostgreSQL's tables.
  package init(_ schema: SyncSchema) {
    let roots = schema.tables.filter { $0.zone == .root }.map { PostgresName.literal($0.name) }
    let root =
      roots.isEmpty
      ? ""
      : """
       OR EXISTS (SELECT 1 FROM holdfast.records l WHERE l.zone = m."group" AND l.id = m."group" AND l.state = 0
                AND l.record_table IN (\(roots.joined(separator: ", "))))
      """
    self.init(
      members: "holdfast.members", left: "holdfast.departures",
      isLive: "EXISTS (SELECT 1 FROM holdfast.accounts a WHERE a.id = m.\"group\")\(root)")
  }
}
