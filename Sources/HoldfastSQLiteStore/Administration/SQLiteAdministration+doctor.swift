import HoldfastCore
import HoldfastSQLite
import HoldfastService

extension SQLiteAdministration {
  package func wrongAccess() throws -> [WrongAccess] {
    let roots = schema.tables.filter { $0.zone == .root }.map {
      " OR EXISTS (SELECT 1 FROM \"\($0.name)\" t WHERE t.id = m.\"group\")"
    }
    let query = AccessQuery(
      members: "members", left: "holdfast_left",
      isLive: "EXISTS (SELECT 1 FROM holdfast_accounts a WHERE a.id = m.\"group\")\(roots.joined())")
    return try connection.rows(query.differences(from: "holdfast_access", zones: "holdfast_zones")).map {
      WrongAccess($0.map { $0.text ?? "" })
    }
  }

  /// Finds values that the schema does not allow.
  package func doubts() throws -> [Finding] {
    try connection.transaction(.deferred) {
      try schema.tables.filter { !$0.isBuiltIn }.flatMap { table in
        var doubts = ValueDoubts(table)
        let columns = table.columns.map { ", \"\($0.name)\"" }.joined()
        try connection.forEachRow("SELECT id\(columns) FROM \"\(table.name)\"") { row in
          let values = table.columns.indices.map { index -> Value? in
            let value = row.value(index + 1)
            if case .blob = value { return nil }
            return Value(value)
          }
          doubts.check(row.text(0), values)
        }
        return doubts.findings
      }
    }
  }

  package func doctor() throws -> [Finding] {
    try connection.transaction(.deferred) {
      try integrity() + references() + zoneRules() + places() + unique() + feeds() + sequences() + stamps()
        + owners() + counts()
    }
  }

  private func integrity() throws -> [Finding] {
    try connection.rows("PRAGMA integrity_check").compactMap { $0.first?.text }.filter { $0 != "ok" }
      .map { Finding(.integrity, "\($0)") }
  }

  private func references() throws -> [Finding] {
    try connection.rows("PRAGMA foreign_key_check").map { row in
      Finding(
        .reference, "a record of \(row[0].text ?? "") refers to one of \(row[2].text ?? "") that is not there"
      )
    }
  }

  /// Each record is in the zone that its table's rule requires, where the record alone decides it.
  private func zoneRules() throws -> [Finding] {
    try schema.tables.flatMap { table -> [Finding] in
      let rule: String
      switch table.zone {
      case .root: rule = "zone <> id"
      case .public(let name): rule = "zone <> '\(name)'"
      case .user: rule = "zone NOT IN (SELECT id FROM holdfast_accounts)"
      case .parent, .explicit, .server: return []
      }
      return try connection.rows("SELECT id, zone FROM \"\(table.name)\" WHERE \(rule)").map {
        Finding(
          .zone,
          "\(table.name) \($0[0].text ?? "") is in the zone \($0[1].text ?? ""), where it does not belong")
      }
    }
  }

  /// A reference inside a zone names a record of that zone. For tables below a parent, it also decides the zone.
  private func places() throws -> [Finding] {
    try schema.links.filter(\.isInZone).flatMap { link in
      let (child, parent) = (schema.tables[link.table], schema.tables[link.target])
      return try connection.rows(
        """
        SELECT t.id, t.zone, p.zone FROM "\(child.name)" t JOIN "\(parent.name)" p ON p.id = t."\(child.columns[link.column].name)"
        WHERE p.zone <> t.zone
        """
      ).map {
        schema.strayFinding(link, $0[0].text ?? "", in: $0[1].text ?? "", besides: $0[2].text ?? "")
      }
    }
  }

  /// No unique index enforces these groups, because the service checks them when a change set is complete.
  private func unique() throws -> [Finding] {
    try schema.tables.flatMap { table in
      try table.unique.flatMap { group in
        let columns = group.map { "\"\($0)\"" }
        let present = columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
        return try connection.rows(
          """
          SELECT zone FROM "\(table.name)" WHERE \(present)
          GROUP BY zone, \(columns.joined(separator: ", ")) HAVING count(*) > 1
          """
        ).map {
          Finding(
            .unique,
            "two records of \(table.name) in zone \($0[0].text ?? "") have one \(group.joined(separator: ", "))"
          )
        }
      }
    }
  }

  /// A record is only once in a zone's changes: live or as a tombstone.
  private func feeds() throws -> [Finding] {
    try schema.tables.flatMap { table in
      try connection.rows(
        """
        SELECT t.id, t.zone FROM "\(table.name)" r JOIN holdfast_tombstones t
        ON t.id = r.id AND t.record_table = '\(table.name)' AND t.zone = r.zone
        """
      ).map {
        Finding(.feed, "\(table.name) \($0[0].text ?? "") is in zone \($0[1].text ?? "") live and gone")
      }
    }
  }

  /// Each seq of a zone belongs to one record or tombstone, and none exceeds the zone's own seq.
  private func sequences() throws -> [Finding] {
    let all = (schema.tables.map(\.name) + ["holdfast_tombstones"])
      .map { "SELECT zone, seq FROM \"\($0)\"" }.joined(separator: " UNION ALL ")
    let twice = try connection.rows("SELECT zone, seq FROM (\(all)) GROUP BY zone, seq HAVING count(*) > 1")
    let beyond = try connection.rows(
      """
      SELECT a.zone, max(a.seq) FROM (\(all)) a LEFT JOIN holdfast_zones z ON z.zone = a.zone
      WHERE z.seq IS NULL OR a.seq > z.seq OR a.seq < 1 GROUP BY a.zone
      """)
    // The zone's last seq belongs to its last change, which nothing but a purge can remove.
    let behind = try connection.rows(
      """
      SELECT z.zone, z.seq FROM holdfast_zones z LEFT JOIN (\(all)) a ON a.zone = z.zone AND a.seq = z.seq
      WHERE z.seq > z.purged AND a.seq IS NULL AND NOT EXISTS (SELECT 1 FROM holdfast_moves v WHERE v.zone = z.zone)
      """)
    let purged = try connection.rows(
      """
      SELECT t.zone, min(t.seq) FROM holdfast_zones z JOIN holdfast_tombstones t ON t.zone = z.zone AND t.seq <= z.purged
      WHERE NOT EXISTS (SELECT 1 FROM holdfast_moves v WHERE v.zone = z.zone) GROUP BY t.zone
      """)
    return twice.map { Finding(.seq, "\(place($0)) was given twice") }
      + beyond.map { Finding(.seq, "\(place($0)) is beyond its zone") }
      + behind.map { Finding(.seq, "\(place($0)) has no record") }
      + purged.map { Finding(.seq, "\(place($0)) is a tombstone that nobody is sent") }
  }

  private func stamps() throws -> [Finding] {
    var findings: [Finding] = []
    for table in schema.tables {
      try connection.forEachRow("SELECT id, stamps, rev FROM \"\(table.name)\"") { row in
        if !RecordStamps.isSound(row.text(1), rev: row.integer(2)) {
          findings.append(
            Finding(.stamps, "those of \(table.name) \(row.text(0)) can't be read, or are later than its rev")
          )
        }
      }
    }
    return findings
  }

  private func counts() throws -> [Finding] {
    try SQLiteCounting(schema: schema, connection: connection).differences().map { $0.finding }
  }

  package func usersWithoutOwnZone() throws -> [String] {
    try connection.rows(
      """
      SELECT a.id FROM holdfast_accounts a JOIN holdfast_zones z ON z.zone = a.id WHERE a.erasure = 0
      AND NOT EXISTS (SELECT 1 FROM members m WHERE m.zone = a.id AND m.user = a.id AND m.role = 'owner'
        AND m.invited_by IS NULL) AND NOT EXISTS (SELECT 1 FROM holdfast_guests g WHERE g.user = a.id) ORDER BY a.id
      """
    ).compactMap { $0[0].text }
  }

  private func owners() throws -> [Finding] {
    let own = try usersWithoutOwnZone().map(Finding.init(withoutOwnZone:))
    let roots = schema.tables.filter { $0.zone == .root }.map { "SELECT id FROM \"\($0.name)\"" }
    if roots.isEmpty { return own }
    let live = roots.joined(separator: " UNION ALL ")
    return try own
      + connection.rows(
        """
        SELECT zone FROM holdfast_zones z WHERE public = 0 AND zone IN (\(live))
        AND NOT EXISTS (SELECT 1 FROM members m WHERE m.zone = z.zone AND m.role = 'owner' AND m.user IS NOT NULL
          AND m.invited_by IS NULL)
        """
      ).map { Finding(.owner, "the zone \($0[0].text ?? "") has none") }
  }

  private func place(_ row: [SQLiteValue]) -> String { "\(row[1].integer ?? 0) of zone \(row[0].text ?? "")" }
}
