import HoldfastCore
import HoldfastSQLite
import HoldfastService

extension SQLiteReader {
  package func visibleZones(of user: String, publicZones: [String]) throws -> VisibleZones {
    let isUsual = publicZones.count == schema.publicZones.count
    if isUsual, let seen, let known = cache.find(at: seen, { $0.visibleZones(of: user) }) { return known }
    let rows = try connection.rows(
      """
      SELECT m.zone, z.seq, z.purged, m.role FROM holdfast_access m JOIN holdfast_zones z ON z.zone = m.zone WHERE m.user = ?1
      UNION ALL
      SELECT z.zone, z.seq, z.purged, 'viewer' FROM json_each(?2) p JOIN holdfast_zones z ON z.zone = p.value
      WHERE z.public = 1 AND NOT EXISTS (SELECT 1 FROM holdfast_access m WHERE m.zone = z.zone AND m.user = ?1)
      """, [.text(user), .list(publicZones)])
    let losses = try connection.value("SELECT losses FROM holdfast_accounts WHERE id = ?", [.text(user)])
    let visible = VisibleZones(
      rows.map {
        VisibleZones.Zone(
          zone: $0[0].text ?? "", seq: $0[1].integer ?? 0, purged: $0[2].integer ?? 0, role: $0[3].text ?? "")
      }, losses: losses?.integer ?? 0)
    if isUsual, let seen { cache.keep(at: seen) { $0.keep(visible, of: user) } }
    return visible
  }

  package func visibleZones(among zones: [String]?) throws -> VisibleZones {
    let named = zones == nil ? "" : "AND zone IN (SELECT value FROM json_each(?1))"
    let rows = try connection.rows(
      "SELECT zone, seq, purged FROM holdfast_zones WHERE left_for IS NULL \(named)",
      zones.map { [.list($0)] } ?? [])
    return VisibleZones(
      rows.map {
        VisibleZones.Zone(
          zone: $0[0].text ?? "", seq: $0[1].integer ?? 0, purged: $0[2].integer ?? 0,
          role: Role.owner.rawValue)
      }, losses: 0)
  }

  package func ids(_ query: RecordQuery, in zones: [String], limit: Int) throws -> [String] {
    let index = SQLiteQueryStatement(query, in: schema, limit: limit)
    let statement = try connection.statement(index.sql)
    try statement.bind(.list(zones), at: 1)
    for (place, value) in index.values.enumerated() { try statement.bind(value, at: place + 2) }
    var ids: [String] = []
    while try statement.step() { ids.append(statement.text(0)) }
    return ids
  }

  package func ranks(of ids: [String], in list: RecordList) throws -> TextMap<Int64> {
    let statement = try connection.statement(SQLiteTables.ranks(in: list, of: schema.tables[list.table]))
    try statement.bind(list.zone, at: 1)
    try statement.bind(.list(ids), at: 2)
    if let parent = list.parent { try statement.bind(parent.value, at: 4) }
    var ranks: TextMap<Int64> = [:]
    while try statement.step() { ranks[statement.text(0)] = statement.integer(1) }
    return ranks
  }

  package func changes(of table: Int, in zone: String, after seq: Int64, limit: Int) throws -> [RecordChange]
  {
    let live = try connection.statement(select(table, "WHERE zone = ? AND seq > ? ORDER BY seq LIMIT ?"))
    try live.bind(zone, at: 1)
    try live.bind(seq, at: 2)
    try live.bind(limit, at: 3)
    var changes: [RecordChange] = []
    while try live.step() {
      let record = record(live, of: table)
      changes.append(RecordChange(id: record.id, seq: record.seq, content: .live(record)))
    }
    let gone = try connection.statement(
      """
      SELECT id, seq, rev, stamp, device, deleted_seq, departed FROM holdfast_tombstones
      WHERE zone = ? AND seq > ? AND record_table = ? ORDER BY seq LIMIT ?
      """)
    try gone.bind(zone, at: 1)
    try gone.bind(seq, at: 2)
    try gone.bind(schema.tables[table].name, at: 3)
    try gone.bind(limit, at: 4)
    while try gone.step() {
      let tombstone = Tombstone(
        zone: zone, rev: gone.integer(2), stamp: Stamp(rawValue: gone.integer(3)), device: gone.integer(4),
        deletedSeq: gone.integer(5), seq: gone.integer(1))
      changes.append(
        RecordChange(
          id: gone.text(0), seq: gone.integer(1),
          content: gone.integer(6) == 1 ? .departed : .deleted(tombstone)))
    }
    // Each of the two queries returned up to `limit` changes, so the first `limit` of both are complete.
    return Array(changes.sorted { $0.seq < $1.seq }.prefix(limit))
  }

  package func keptResult(_ token: TokenHash, of user: String) throws -> KeptResult.Head? {
    let row = try connection.row(
      """
      SELECT record_table, shown, page_size, id_count, expires FROM holdfast_results
      WHERE user = ? AND token_hash = ?
      """, [.text(user), .blob(token.withBytes { Array($0) })])
    guard let row else { return nil }
    return KeptResult.Head(
      table: row[0].text ?? "", columns: KeptResult.columns(row[1].text), limit: Int(row[2].integer ?? 1),
      count: Int(row[3].integer ?? 0), expires: row[4].integer ?? 0)
  }

  package func keptIDs(_ token: TokenHash, of user: String, chunk: Int) throws -> [String] {
    let row = try connection.row(
      "SELECT ids FROM holdfast_result_ids WHERE user = ? AND token_hash = ? AND chunk = ?",
      [.text(user), .blob(token.withBytes { Array($0) }), .integer(Int64(chunk))])
    return KeptResult.ids(row?[0].text ?? "[]")
  }

  private func select(_ table: Int, _ rest: String) -> String {
    let columns = schema.tables[table].columns.map { ", \"\($0.name)\"" }.joined()
    return "SELECT id, zone, seq, rev, stamps\(columns) FROM \"\(schema.tables[table].name)\" \(rest)"
  }

  private func record(_ row: Statement, of table: Int) -> StoredRecord {
    StoredRecord(
      table: table, id: row.text(0), zone: row.text(1), seq: row.integer(2), rev: row.integer(3),
      stamps: row.text(4), values: schema.tables[table].columns.indices.map { row.columnValue(5 + $0) })
  }
}
