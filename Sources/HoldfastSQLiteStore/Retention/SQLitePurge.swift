import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// Finds and purges expired data in SQLite.
final class SQLitePurge: PurgeTable {
  private let connection: SQLiteConnection

  /// The next zones with tombstones. Each is found by a skip in the index, instead of a scan of all tombstones.
  static let nextZones = """
    WITH RECURSIVE next (zone) AS (
    SELECT (SELECT t.zone FROM holdfast_tombstones t WHERE t.zone > ?1 ORDER BY t.zone LIMIT 1)
    UNION ALL
    SELECT (SELECT t.zone FROM holdfast_tombstones t WHERE t.zone > next.zone ORDER BY t.zone LIMIT 1)
    FROM next WHERE next.zone IS NOT NULL LIMIT ?2
    ) SELECT zone FROM next WHERE zone IS NOT NULL
    """

  /// The next zones with data about the history before a restore.
  static let lostZones = """
    SELECT DISTINCT h.zone FROM holdfast_recovered_records h WHERE h.zone > ?1
    UNION SELECT c.zone FROM holdfast_claimed_seqs c WHERE c.zone > ?1 ORDER BY 1 LIMIT ?2
    """

  /// The least ack of a zone's live devices.
  static let leastAck = """
    SELECT min(max(a.seq, a.purged)) FROM holdfast_acks a JOIN holdfast_devices d ON d.number = a.device
    WHERE a.zone = ?1 AND a.epoch = ?2 AND a.lost = 0 AND max(a.seq, a.purged) BETWEEN ?3 AND ?4 AND d.seen_at > ?5
    AND (?6 = 1 OR EXISTS (SELECT 1 FROM holdfast_access m WHERE m.zone = ?1 AND m.user = d.user))
    """

  /// Whether a live device with access to a zone has not synced since the restore.
  private static let isAwaited = """
    SELECT 1 FROM holdfast_access m JOIN holdfast_devices d ON d.user = m.user
    WHERE m.zone = ?1 AND d.unseen_since_restore = 1 AND d.seen_at > ?2
    UNION ALL SELECT 1 FROM holdfast_devices d WHERE ?3 = 1 AND d.unseen_since_restore = 1 AND d.seen_at > ?2 LIMIT 1
    """

  /// A device whose first session never wrote. Its number is not used anywhere.
  private static let isUnused =
    "session = 1 AND session_used = 0 AND scope IS NULL AND issued_after IS NULL"

  init(on connection: SQLiteConnection) { self.connection = connection }

  // MARK: Looking

  func find(_ kind: Purgeable.Kind, after place: String, _ terms: RetentionTerms, limit: Int) throws
    -> FoundPurgeable
  {
    switch kind {
    case .tombstones: return try zones(after: place, terms, limit: limit)
    case .acks: return try deadDevices(after: Int64(place) ?? 0, terms, limit: limit)
    case .conflicts:
      let rows = try connection.rows(
        "SELECT id, zone FROM conflicts WHERE id > ? AND id < ? ORDER BY id LIMIT ?",
        [.text(place), .text(terms.firstConflict), .integer(Int64(limit))])
      let found = rows.map { LoggedConflict(id: $0[0].text ?? "", zone: $0[1].text ?? "") }
      return FoundPurgeable(
        items: found.isEmpty ? [] : [.conflicts(found)], next: rows.count == limit ? found.last?.id : nil)
    case .answers:
      let rows = try connection.rows(
        """
        SELECT device, max(number), count(*) FROM
        (SELECT device, number FROM holdfast_requests WHERE at <= ? ORDER BY at LIMIT ?) GROUP BY device
        """, [.integer(terms.answersBefore), .integer(Int64(limit))])
      let count = rows.reduce(0) { $0 + ($1[2].integer ?? 0) }
      return FoundPurgeable(
        items: rows.map { .answers(device: $0[0].integer ?? 0, upTo: $0[1].integer ?? 0) },
        next: count == Int64(limit) ? "" : nil)
    case .departures, .erasedRecords, .remains, .endings: return FoundPurgeable()
    case .results:
      let rows = try connection.rows(
        "SELECT user, token_hash FROM holdfast_results WHERE expires <= ? OR expires > ? LIMIT ?",
        [.integer(terms.shown), .integer(terms.shown + KeptResult.life), .integer(Int64(limit))])
      return FoundPurgeable(
        items: rows.map { .result(user: $0[0].text ?? "", token: $0[1].blob ?? []) },
        next: rows.count == limit ? "" : nil)
    case .unusedDevices:
      let numbers = try connection.rows(
        "SELECT number FROM holdfast_devices WHERE \(Self.isUnused) AND seen_at <= ? AND number > ? ORDER BY number LIMIT ?",
        [.integer(terms.unusedBefore), .integer(Int64(place) ?? 0), .integer(Int64(limit))]
      ).compactMap { $0[0].integer }
      return FoundPurgeable(
        items: numbers.isEmpty ? [] : [.unusedDevices(numbers)],
        next: numbers.count == limit ? numbers.last.map { String($0) } : nil)
    case .carried:
      let isAny = try connection.value(
        "SELECT EXISTS (SELECT 1 FROM holdfast_carried WHERE at <= ?)", [.integer(terms.devicesSeenAfter)])
      return FoundPurgeable(items: isAny?.integer == 1 ? [.carried] : [])
    case .lostHistory:
      let began = try connection.value(
        "SELECT CAST(value AS INTEGER) FROM holdfast_meta WHERE key = 'epoch_began'")
      guard let began = began?.integer, began <= terms.restoredUpTo else { return FoundPurgeable() }
      let zones = try connection.rows(
        Self.lostZones, [.text(place), .integer(Int64(limit))]
      ).compactMap { $0[0].text }
      return FoundPurgeable(
        items: zones.map { .lostHistory(zone: $0) }, next: zones.count == limit ? zones.last : nil)
    }
  }

  /// The next zones with purgeable tombstones.
  private func zones(after place: String, _ terms: RetentionTerms, limit: Int) throws -> FoundPurgeable {
    let zones = try connection.rows(
      Self.nextZones, [.text(place), .integer(Int64(limit))]
    ).compactMap { $0[0].text }
    let found = try zones.filter { zone in
      let first = try connection.row(
        "SELECT seq, stamp FROM holdfast_tombstones WHERE zone = ? ORDER BY seq LIMIT 1", [.text(zone)])
      guard let seq = first?[0].integer, let stamp = first?[1].integer,
        Stamp(rawValue: stamp).milliseconds <= terms.deletedUpTo
      else { return false }
      return try horizon(of: zone, terms).map { seq <= $0.seq } ?? false
    }
    return FoundPurgeable(
      items: found.map { .tombstones(zone: $0) }, next: zones.count == limit ? zones.last : nil)
  }

  private func deadDevices(after number: Int64, _ terms: RetentionTerms, limit: Int) throws
    -> FoundPurgeable
  {
    let devices = try connection.rows(
      """
      SELECT d.number FROM holdfast_devices d WHERE d.number > ? AND d.seen_at <= ?
      AND (d.unseen_since_restore = 1 OR EXISTS (SELECT 1 FROM holdfast_acks a WHERE a.device = d.number)) ORDER BY d.number LIMIT ?
      """, [.integer(number), .integer(terms.devicesSeenAfter), .integer(Int64(limit))]
    ).compactMap { $0[0].integer }
    return FoundPurgeable(
      items: devices.map { .acks(device: $0) },
      next: devices.count == limit ? devices.last.map { String($0) } : nil)
  }

  /// The purge horizon of a zone; nil for an unknown zone.
  private func horizon(of zone: String, _ terms: RetentionTerms) throws -> PurgeHorizon? {
    guard
      let row = try connection.row(
        "SELECT seq, purged, public, restored FROM holdfast_zones WHERE zone = ?", [.text(zone)]),
      let seq = row[0].integer, let purged = row[1].integer, let restored = row[3].integer
    else { return nil }
    let isAwaited =
      try terms.awaitsDevices
      && connection.value(Self.isAwaited, [.text(zone), .integer(terms.devicesSeenAfter), row[2]]) != nil
    let limit = isAwaited ? min(seq, terms.limit(purged: purged, restored: restored)) : seq
    let ack = try connection.value(
      Self.leastAck,
      [
        .text(zone), .text(terms.history.epoch), .integer(purged), .integer(seq),
        .integer(terms.devicesSeenAfter),
        row[2],
      ])
    return PurgeHorizon(purged: purged, seq: min(ack?.integer ?? limit, limit))
  }

  // MARK: Retention

  func purge(_ item: Purgeable, _ terms: RetentionTerms) throws -> Purged {
    switch item {
    case .tombstones(let zone): return try purgeTombstones(of: zone, terms)
    case .acks(let device): return try purgeAcks(of: device, terms)
    case .conflicts, .departure, .erasedRecords, .together: return Purged()
    case .remains(let user): return try SQLiteErasure(on: connection).purgeRemains(of: user)
    case .ending(let user): return try SQLiteErasure(on: connection).end(user)
    case .answers(let device, let number):
      try connection.run(
        "DELETE FROM holdfast_requests WHERE device = ? AND number <= ? AND at <= ?",
        [.integer(device), .integer(number), .integer(terms.answersBefore)])
      return Purged(answers: connection.changes)
    case .result(let user, let token):
      for table in ["holdfast_result_ids", "holdfast_results"] {
        try connection.run(
          "DELETE FROM \(table) WHERE user = ? AND token_hash = ?", [.text(user), .blob(token)])
      }
      return Purged(results: 1)
    case .unusedDevices(let numbers):
      var purged = Purged()
      for number in numbers {
        try connection.run(
          "DELETE FROM holdfast_devices WHERE number = ? AND \(Self.isUnused) AND seen_at <= ?",
          [.integer(number), .integer(terms.unusedBefore)])
        if connection.changes == 0 { continue }
        purged.devices += 1
        try Self.dropPushToken(of: number, on: connection)
      }
      return purged
    case .lostHistory(let zone): return try purgeLostHistory(of: zone)
    case .carried:
      try connection.run(
        """
        DELETE FROM holdfast_carried WHERE (user, origin, zone) IN
        (SELECT user, origin, zone FROM holdfast_carried WHERE at <= ? ORDER BY at LIMIT ?)
        """, [.integer(terms.devicesSeenAfter), .integer(Int64(RetentionTerms.step))])
      let count = connection.changes
      return Purged(carried: count, hasMore: count == RetentionTerms.step)
    }
  }

  // MARK: The time

  func time() throws -> TrustedTime? {
    try connection.value("SELECT value FROM holdfast_meta WHERE key = 'trusted_time'")?.text
      .flatMap { TrustedTime($0) }
  }

  func lockTime() throws -> TrustedTime? { try time() }

  func setTime(_ time: TrustedTime) throws {
    try connection.run(
      "INSERT OR REPLACE INTO holdfast_meta (key, value) VALUES ('trusted_time', ?)", [.text(time.text)])
  }

  func rollBack(to now: Int64) throws {
    try connection.run(
      """
      UPDATE holdfast_devices SET seen_at = min(seen_at, ?1), session_at = min(session_at, ?1)
      WHERE seen_at > ?1 OR session_at > ?1
      """, [.integer(now)])
    for table in ["holdfast_requests", "holdfast_carried"] {
      try connection.run("UPDATE \(table) SET at = ?1 WHERE at > ?1", [.integer(now)])
    }
  }

  // MARK: Lost histories

  private func purgeLostHistory(of zone: String) throws -> Purged {
    try connection.run(
      """
      DELETE FROM holdfast_recovered_records WHERE zone = ?1 AND (record_table, id) IN
      (SELECT record_table, id FROM holdfast_recovered_records WHERE zone = ?1 ORDER BY record_table, id LIMIT ?2)
      """, [.text(zone), .integer(Int64(RetentionTerms.step))])
    let count = connection.changes
    if count == RetentionTerms.step { return Purged(lostHistory: count, hasMore: true) }
    try connection.run("DELETE FROM holdfast_zone_claims WHERE zone = ?", [.text(zone)])
    try connection.run("DELETE FROM holdfast_claimed_seqs WHERE zone = ?", [.text(zone)])
    return Purged(lostHistory: count + connection.changes)
  }

  private func purgeTombstones(of zone: String, _ terms: RetentionTerms) throws -> Purged {
    guard let horizon = try horizon(of: zone, terms) else { return Purged() }
    let rows = try connection.rows(
      """
      SELECT seq, stamp, record_table, id, departed FROM holdfast_tombstones WHERE zone = ? AND seq <= ?
      ORDER BY seq LIMIT ?
      """, [.text(zone), .integer(horizon.seq), .integer(Int64(RetentionTerms.step))])
    let old = rows.prefix { Stamp(rawValue: $0[1].integer ?? 0).milliseconds <= terms.deletedUpTo }
    guard let last = old.last?[0].integer else { return Purged() }
    var purged = Purged(tombstones: old.count, zones: 1)
    let dropCreated = try connection.statement(
      "DELETE FROM holdfast_created WHERE record_id = ? AND record_table = ?")
    for row in old where row[4].integer == 0 {
      try dropCreated.bind(row[3], at: 1)
      try dropCreated.bind(row[2], at: 2)
      try dropCreated.run()
      purged.created += connection.changes
    }
    try connection.run(
      "DELETE FROM holdfast_tombstones WHERE zone = ? AND seq <= ?", [.text(zone), .integer(last)])
    try connection.run(
      "UPDATE holdfast_zones SET purged = ? WHERE zone = ?", [.integer(last), .text(zone)])
    Trace.took(.tombstonesPurged)
    purged.hasMore = old.count == RetentionTerms.step
    return purged
  }

  static func dropPushToken(of number: Int64, on connection: SQLiteConnection) throws {
    try connection.run("DELETE FROM holdfast_push_tokens WHERE device = ?", [.integer(number)])
  }

  private func purgeAcks(of device: Int64, _ terms: RetentionTerms) throws -> Purged {
    try connection.run(
      "UPDATE holdfast_devices SET acks_purged = 1, unseen_since_restore = 0 WHERE number = ? AND seen_at <= ?",
      [.integer(device), .integer(terms.devicesSeenAfter)])
    // The device has returned meanwhile.
    if connection.changes == 0 { return Purged() }
    try Self.dropPushToken(of: device, on: connection)
    try connection.run(
      """
      DELETE FROM holdfast_acks WHERE device = ?1
      AND zone IN (SELECT zone FROM holdfast_acks WHERE device = ?1 ORDER BY zone LIMIT ?2)
      """, [.integer(device), .integer(Int64(RetentionTerms.step))])
    Trace.took(.devicePurged)
    let count = connection.changes
    return Purged(acks: count, hasMore: count == RetentionTerms.step)
  }
}
