import HoldfastCore
import HoldfastPostgres
package import HoldfastService

/// Operator queries over all shards. Joins across shards run here.
package final class PostgresShardAdministration: PostgresAdministration {
  package override func zones() throws -> [[String]] {
    let members = try counts("SELECT m.zone, count(*)::text FROM holdfast.members m GROUP BY m.zone")
    let records = try counts(
      """
      SELECT r.zone, count(*)::text FROM holdfast.records r
      WHERE r.state = 0 AND r.record_table NOT IN ('members', 'conflicts') GROUP BY r.zone
      """)
    return try rows(
      """
      SELECT z.zone, CASE WHEN z.public THEN 'yes' ELSE 'no' END, z.seq::text, z.purged::text FROM holdfast.zones z ORDER BY z.zone
      """
    ).map { $0 + [members[$0[0]] ?? "0", records[$0[0]] ?? "0"] }
  }

  package override func users() throws -> [[String]] {
    let devices = try counts(
      "SELECT d.account, count(*)::text FROM holdfast.devices d GROUP BY d.account")
    return try rows(
      "SELECT a.id, \(Self.name), \(Self.time("a.created_at")) FROM holdfast.accounts a ORDER BY a.name"
    ).map { $0 + [devices[$0[0]] ?? "0"] }
  }

  /// Reads each table from all shards, and lets the coordinator compare the results.
  package override func wrongAccess() throws -> [WrongAccess] {
    var given = PostgresParameters()
    let columns = [
      #"SELECT m.zone, m."user", m."group", m.role FROM holdfast.members m WHERE m.invited_by IS NULL"#,
      #"SELECT l.zone, l."user" FROM holdfast.departures l"#,
      #"SELECT a.zone, a."user", a.role FROM holdfast.access a"#, "SELECT z.zone FROM holdfast.zones z",
    ]
    for (sql, count) in zip(columns, [4, 2, 3, 1]) {
      let found = try rows(sql)
      for column in 0..<count {
        given.append(array: found.lazy.map { $0[column].isEmpty ? nil : $0[column] })
      }
    }
    let roots = zip(schema.tables, layout.relations).filter { $0.0.zone == .root }.map(\.1.name)
    given.append(
      array: try (roots + ["holdfast.accounts"]).flatMap {
        try rows("SELECT p.id FROM \($0) p").map { $0[0] }
      })
    let query = AccessQuery(
      members: "all_members", left: "all_departures",
      isLive: "EXISTS (SELECT 1 FROM all_standing a WHERE a.id = m.\"group\")")
    return try rows(
      """
      WITH all_members AS (
        SELECT *, NULL::text AS invited_by FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) u (zone, "user", "group", role)),
      all_departures AS (SELECT * FROM unnest($5::text[], $6::text[]) u (zone, "user")),
      all_access AS (SELECT * FROM unnest($7::text[], $8::text[], $9::text[]) u (zone, "user", role)),
      all_zones AS (SELECT * FROM unnest($10::text[]) u (zone)),
      all_standing AS (SELECT * FROM unnest($11::text[]) u (id))
      \(query.differences(from: "all_access", zones: "all_zones"))
      """, given
    ).map { WrongAccess($0) }
  }

  package override func doctor() throws -> [Finding] { try super.doctor() + doubles() + memberships() }

  /// The list of a user's zones is on another shard than the zones.
  private func memberships() throws -> [Finding] {
    func set(_ sql: String) throws -> Set<[TextKey]> { Set(try rows(sql).map { $0.map { TextKey($0) } }) }
    let access = try set(#"SELECT a.zone, a."user", a.role FROM holdfast.access a"#)
    let listed = try set("SELECT m.zone, m.account, m.role FROM holdfast.memberships m")
    let users = TextSet(access.symmetricDifference(listed).map { $0[1].text })
    return users.sorted().map {
      Finding(
        .memberships,
        """
        the zones listed for the user \($0) are not those of the user's access; while no server runs, \
        DELETE FROM holdfast.memberships and \(PostgresShards.derivation) mend it
        """)
    }
  }

  /// Unique keys do not span shards.
  private func doubles() throws -> [Finding] {
    try rows(
      """
      SELECT r.record_table, r.id FROM holdfast.records r WHERE r.state = 0
      GROUP BY r.record_table, r.id HAVING count(*) > 1
      """
    ).map { Finding(.ledger, "\($0[0]) \($0[1]) lives in several zones") }
  }

  /// The foreign key of a reference inside a zone contains the zone, so `references` finds the violations.
  package override func places() throws -> [Finding] { [] }

  package override func references() throws -> [Finding] {
    try schema.links.flatMap { link in
      let (child, parent) = (layout.relations[link.table], layout.relations[link.target])
      let column = child.columns[link.column].name
      let missing: Int
      if link.isInZone {
        missing = try rows(
          """
          SELECT t.id FROM \(child.name) t LEFT JOIN \(parent.name) p ON p.zone = t.zone AND p.id = t.\(column)
          WHERE t.\(column) IS NOT NULL AND p.id IS NULL
          """
        ).count
      } else {
        let there = TextSet(try rows("SELECT p.id FROM \(parent.name) p").map { $0[0] })
        missing = try rows("SELECT t.\(column) FROM \(child.name) t WHERE t.\(column) IS NOT NULL")
          .count { !there.contains($0[0]) }
      }
      return (0..<missing).map { _ in
        Finding(.reference, "a record of \(child.table) refers to one of \(parent.table) that is not there")
      }
    }
  }

  package override func owners() throws -> [Finding] {
    var candidates = PostgresParameters()
    candidates.append(
      array: try rows(
        """
        SELECT z.zone FROM holdfast.zones z LEFT JOIN holdfast.members m ON m.zone = z.zone AND m.role = 'owner' AND m."user" IS NOT NULL
          AND m.invited_by IS NULL
        WHERE NOT z.public AND m.id IS NULL
        """
      ).map { $0[0] })
    let roots = zip(schema.tables, layout.relations).filter { $0.0.zone == .root }.map(\.1.name)
    return try (roots + ["holdfast.accounts"]).flatMap { relation in
      // The zone of an erased account may have no owner.
      let isThere = relation == "holdfast.accounts" ? " AND t.erasure = 0" : ""
      return try rows("SELECT t.id FROM \(relation) t WHERE t.id = ANY ($1)\(isThere)", candidates).map {
        $0[0]
      }
    }.sorted().map { Finding(.owner, "the zone \($0) has none") }
  }

  private func counts(_ sql: String) throws -> TextMap<String> {
    TextMap(try rows(sql).map { ($0[0], $0[1]) }, uniquingKeysWith: { first, _ in first })
  }
}
