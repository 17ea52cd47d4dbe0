import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// Reads from SQLite with prepared statements.
final class SQLiteReader: StoreReader {
  let connection: SQLiteConnection
  let schema: SyncSchema
  private(set) var history: History
  private let known: KnownHistory
  var prover: Prover { known.prover }
  private let findHistory: Statement
  private let feed: SQLiteChangeFeed
  private let begin: Statement
  private let end: Statement
  private let findAny: Statement
  /// What all readers know.
  let cache: ReadCache<CommitState>
  /// The state that the transaction sees; nil outside of one, and where it is not known.
  private(set) var seen: CommitState?
  private let findDevice: Statement
  private let findAccount: Statement
  private let findZones: Statement
  private let findRefusals: Statement
  /// The statements that read records by id, by table. Prepared on first use.
  var recordStatements: [Int: RecordStatements] = [:]

  /// The zones of a device: those that it has acked, and those of its user.
  static let zonesOfDevice = """
    SELECT a.zone, a.epoch, a.seq, z.seq, z.purged, coalesce(m.role, CASE z.public WHEN 1 THEN 'viewer' END), a.lost, 1,
      a.purged
    FROM holdfast_acks a LEFT JOIN holdfast_zones z ON z.zone = a.zone
    LEFT JOIN holdfast_access m ON m.zone = a.zone AND m.user = ?2 WHERE a.device = ?1
    UNION ALL
    SELECT m.zone, '', 0, z.seq, z.purged, m.role, 0, 0, 0
    FROM holdfast_access m JOIN holdfast_zones z ON z.zone = m.zone WHERE m.user = ?2
    AND NOT EXISTS (SELECT 1 FROM holdfast_acks a WHERE a.device = ?1 AND a.zone = m.zone)
    """

  init(
    _ schema: SyncSchema, on connection: SQLiteConnection, _ known: KnownHistory,
    _ cache: ReadCache<CommitState>
  ) throws {
    self.connection = connection
    self.cache = cache
    self.schema = schema
    self.known = known
    history = known.now
    findHistory = try connection.statement(
      "SELECT key, value FROM holdfast_meta WHERE key IN (\(History.keys))")
    feed = try SQLiteChangeFeed(schema, on: connection)
    begin = try connection.statement("BEGIN")
    end = try connection.statement("COMMIT")
    findAny = try connection.statement("PRAGMA user_version")
    findDevice = try connection.statement(
      """
      SELECT number, user, confirmed, chain, seen_at, acknowledged_refusals, session_used, scope, issued_after, acks_purged, app, app_schema,
        session_at, (SELECT value FROM holdfast_meta WHERE key = 'epoch')
      FROM holdfast_devices WHERE token_hash = ?
      """
    )
    findAccount = try connection.statement("SELECT id, password FROM holdfast_accounts WHERE name = ?")
    findZones = try connection.statement(Self.zonesOfDevice)
    findRefusals = try connection.statement(
      "SELECT first, last, operation, problem FROM holdfast_refusals WHERE device = ? ORDER BY first")
  }

  /// What is known of the state that the database is in now.
  var memory: SQLiteMemory? { connection.commitState.map { SQLiteMemory(cache: cache, state: $0) } }

  func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    let before = connection.commitState
    try begin.run()
    defer {
      seen = nil
      try? end.run()
    }
    // The first read decides which state the transaction sees. What was there before it and is after it is that state.
    try findAny.run()
    if let before, before == connection.commitState {
      seen = before
      cache.begin(at: before) { _ in connection.commitState == before }
    }
    return try body()
  }

  func device(_ token: TokenHash) throws -> KnownDevice? {
    if let seen, let known = cache.find(at: seen, { $0.device(token) }) {
      history = known.history
      return known.device
    }
    while let found = try find(token) {
      if found.epoch == history.epoch {
        if let seen { cache.keep(at: seen) { $0.keep(found.device, history) } }
        return found.device
      }
      // Another epoch has begun, and may have changed the device.
      history = try SQLiteEpoch.history(findHistory.pairs())
      known.see(history)
    }
    return nil
  }

  private func find(_ token: TokenHash) throws -> (device: KnownDevice, epoch: String)? {
    try token.withBytes { (bytes: UnsafeRawBufferPointer) in try findDevice.bind(blob: bytes, at: 1) }
    defer { findDevice.reset() }
    guard try findDevice.step() else { return nil }
    let device = KnownDevice(
      key: DeviceKey(
        number: findDevice.integer(0), user: findDevice.text(1), token: token,
        use: try .init(scope: findDevice.columnValue(7).text)),
      confirmed: findDevice.integer(2), chain: Fingerprint(value: UInt64(bitPattern: findDevice.integer(3))),
      seenAt: findDevice.integer(4), sessionAt: findDevice.integer(12),
      acknowledgedRefusals: findDevice.integer(5),
      isSessionUsed: findDevice.integer(6) == 1, issuedAfter: findDevice.columnValue(8).integer,
      hasPurgedAcks: findDevice.integer(9) == 1,
      client: findDevice.isNull(10)
        ? nil : ClientVersion(app: findDevice.text(10), schema: findDevice.text(11)))
    return (device, findDevice.text(13))
  }

  func devices(_ tokens: [TokenHash]) throws -> [KnownDevice] { try tokens.compactMap(device) }

  func followed(by device: Int64, among zones: [String]) throws -> [String] {
    try connection.rows(
      """
      SELECT a.zone FROM holdfast_acks a JOIN holdfast_zones z ON z.zone = a.zone AND z.public = 1
      WHERE a.device = ? AND a.zone IN (SELECT value FROM json_each(?)) ORDER BY a.zone
      """, [.integer(device), .list(zones)]
    ).compactMap { $0[0].text }
  }

  func keep(_ answer: [UInt8], to request: QuietRequest, of device: DeviceKey) {
    if let seen { cache.keep(at: seen) { $0.keep(answer, to: request, of: device) } }
  }

  func hasTicket(_ ticket: TokenHash, at now: Int64) throws -> Bool {
    try connection.value(
      "SELECT 1 FROM holdfast_devices WHERE ticket_hash = ? AND ticket_until > ?",
      [.blob(ticket.withBytes { Array($0) }), .integer(now)]) != nil
  }

  func account(_ name: String) throws -> (id: String, password: String)? {
    try findAccount.bind(name, at: 1)
    defer { findAccount.reset() }
    return try findAccount.step() ? (findAccount.text(0), findAccount.text(1)) : nil
  }

  func account(id: String) throws -> (name: String, password: String)? {
    let row = try connection.row(
      "SELECT name, password FROM holdfast_accounts WHERE id = ? AND erasure = 0", [.text(id)])
    return row.map { ($0[0].text ?? "", $0[1].text ?? "") }
  }

  func user(named name: String) throws -> FoundUser? {
    let row = try connection.row(
      """
      SELECT a.id, a.name, (SELECT i.issuer FROM holdfast_identities i WHERE i.user = a.id LIMIT 1)
      FROM holdfast_accounts a WHERE a.name = ? AND a.erasure = 0
      """, [.text(name)])
    return row.map { FoundUser(id: $0[0].text ?? "", name: $0[1].text ?? "", issuer: $0[2].text) }
  }

  func devices(of user: String, limit: Int) throws -> [ListedDevice] {
    try connection.rows(
      """
      SELECT d.number, d.id, d.name, d.seen_at, \(KnownDevice.hasSession), p.kind, p.token
      FROM holdfast_devices d LEFT JOIN holdfast_push_tokens p ON p.device = d.number
      WHERE d.user = ? ORDER BY d.seen_at DESC, d.number DESC LIMIT ?
      """, [.text(user), .integer(Int64(limit))]
    ).map { row in
      ListedDevice(
        number: row[0].integer ?? 0, id: row[1].text ?? "", name: row[2].text ?? "",
        seenAt: row[3].integer ?? 0, hasSession: row[4].integer == 1,
        pushToken: row[5].text.map { PushToken(kind: $0, token: row[6].text ?? "") })
    }
  }

  func zones(of device: DeviceKey) throws -> [ZoneProgress] {
    if let seen, let known = cache.find(at: seen, { $0.zones(of: device.number) }) { return known }
    try findZones.bind(device.number, at: 1)
    try findZones.bind(device.user, at: 2)
    defer { findZones.reset() }
    var zones: [ZoneProgress] = []
    while try findZones.step() {
      let zone = findZones.text(0)
      zones.append(
        ZoneProgress(
          zone: zone,
          ack: ZoneAck(
            zone: zone, epoch: findZones.text(1), seq: findZones.integer(2), purged: findZones.integer(8)),
          isStored: findZones.integer(7) == 1,
          seq: findZones.integer(3), purged: findZones.integer(4), role: findZones.text(5),
          wasLost: findZones.integer(6) == 1))
    }
    if let seen { cache.keep(at: seen) { $0.keep(zones, of: device) } }
    return zones
  }

  func refusals(of device: Int64) throws -> [StoredRefusal] {
    if let seen, cache.find(at: seen, { $0.hasNoRefusals(device) }) == true { return [] }
    try findRefusals.bind(device, at: 1)
    defer { findRefusals.reset() }
    var refusals: [StoredRefusal] = []
    while try findRefusals.step() {
      refusals.append(
        StoredRefusal(
          first: findRefusals.integer(0), last: findRefusals.integer(1), operation: findRefusals.integer(2),
          problem: findRefusals.blob(3)))
    }
    if let seen, refusals.isEmpty { cache.keep(at: seen) { $0.keepNoRefusals(of: device) } }
    return refusals
  }

  func zonesToNotify(_ zones: [String]) throws -> [UnnotifiedZone] {
    try connection.rows(
      """
      SELECT zone, seq, public, (SELECT group_concat(user, ' ') FROM holdfast_access m WHERE m.zone = z.zone)
      FROM holdfast_zones z WHERE zone IN (SELECT value FROM json_each(?)) ORDER BY zone
      """, [.list(zones)]
    ).map { row in
      UnnotifiedZone(
        zone: row[0].text ?? "", seq: row[1].integer ?? 0, isPublic: row[2].integer == 1,
        users: (row[3].text ?? "").split(separator: " ").map(String.init))
    }
  }

  func unnotifiedZones(after place: String, limit: Int) throws -> [String] {
    try connection.rows(
      """
      SELECT z.zone FROM holdfast_zones z LEFT JOIN holdfast_notified t ON t.zone = z.zone
      WHERE z.zone > ? AND z.seq > coalesce(t.seq, 0) ORDER BY z.zone LIMIT ?
      """, [.text(place), .integer(Int64(limit))]
    ).map { $0[0].text ?? "" }
  }

  func pushTargets(_ audience: PushAudience, after number: Int64, limit: Int) throws -> [PushTarget] {
    let (names, zone, source) =
      switch audience {
      case .users(let users): (users, "NULL", "d.user IN (SELECT value FROM json_each(?1))")
      case .followers(let zones): (zones, "a.zone", "a.zone IN (SELECT value FROM json_each(?1))")
      }
    let acks = zone == "NULL" ? "" : "JOIN holdfast_acks a ON a.device = d.number"
    return try connection.rows(
      """
      SELECT p.device, d.id, d.user, \(zone), p.kind, p.token FROM holdfast_devices d \(acks)
      JOIN holdfast_push_tokens p ON p.device = d.number WHERE \(source) AND d.number > ?2 ORDER BY d.number LIMIT ?3
      """,
      [.list(names), .integer(number), .integer(Int64(limit))]
    ).map { row in
      PushTarget(
        device: row[0].integer ?? 0, id: row[1].text ?? "", user: row[2].text ?? "", zone: row[3].text,
        token: PushToken(kind: row[4].text ?? "", token: row[5].text ?? ""))
    }
  }

  func moment<Result>(_ body: () throws -> Result) throws -> Result { try transaction(body) }

  func zone(_ zone: String, for user: String?) throws -> ZoneProgress? {
    if let user, let seen, let known = cache.find(at: seen, { $0.zone(zone, for: user) }) { return known }
    let row = try connection.row(
      """
      SELECT z.seq, z.purged, CASE WHEN ?2 IS NULL THEN 'owner' ELSE coalesce(m.role, CASE z.public WHEN 1 THEN 'viewer' END, '') END
      FROM holdfast_zones z LEFT JOIN holdfast_access m ON m.zone = z.zone AND m.user = ?2 WHERE z.zone = ?1
      """, [.text(zone), user.map { .text($0) } ?? .null])
    let found = row.map {
      ZoneProgress(
        zone: zone, ack: ZoneAck(zone: zone, epoch: "", seq: 0), isStored: false,
        seq: $0[0].integer ?? 0, purged: $0[1].integer ?? 0, role: $0[2].text ?? "", wasLost: false)
    }
    if let found, let user, let seen { cache.keep(at: seen) { $0.keep(found, for: user) } }
    return found
  }

  func restored(_ zones: [String]) throws -> TextMap<RestoredZone> {
    let rows = try connection.rows(
      "SELECT zone, restored, purged FROM holdfast_zones WHERE zone IN (SELECT value FROM json_each(?))",
      [.list(zones)])
    return TextMap(
      rows.map {
        ($0[0].text ?? "", RestoredZone(seq: $0[1].integer ?? 0, purged: $0[2].integer ?? 0))
      })
  }

  func places(of zones: [String]) throws -> TextMap<ZonePlace> {
    let rows = try connection.rows(
      """
      SELECT z.zone, z.left_for, coalesce(m.number, 0), coalesce(m.state, 0) FROM holdfast_zones z
      LEFT JOIN holdfast_moves m ON m.zone = z.zone WHERE z.zone IN (SELECT value FROM json_each(?))
      """, [.list(zones)])
    return TextMap(
      rows.map { row in
        let state = row[3].integer.flatMap(ZonePlace.State.init) ?? .going
        return (
          row[0].text ?? "", ZonePlace(leftFor: row[1].text, number: row[2].integer ?? 0, state: state)
        )
      })
  }

  func claims(of user: String) throws -> TextMap<ZoneClaim.Mark> {
    let rows = try connection.rows(
      "SELECT zone, device, state, proven FROM holdfast_zone_claims WHERE user = ?", [.text(user)])
    let claims = rows.map { row in
      (
        row[0].text ?? "",
        ZoneClaim.Mark(
          device: row[1].integer ?? 0, state: row[2].integer ?? 0, isProven: row[3].integer == 1)
      )
    }
    return TextMap(claims)
  }

  func memberships(of user: String) throws -> [String] {
    try connection.rows(
      "SELECT DISTINCT zone FROM holdfast_access WHERE user = ? ORDER BY zone", [.text(user)]
    )
    .compactMap { $0[0].text }
  }

  func refreshed(_ zones: [ZoneProgress]) throws -> [ZoneProgress] { zones }

  func purgeable(_ kind: Purgeable.Kind, after place: String, _ terms: RetentionTerms, limit: Int) throws
    -> FoundPurgeable
  {
    try SQLitePurge(on: connection).find(kind, after: place, terms, limit: limit)
  }

  func writeChanges(of zone: ZoneProgress, to writer: inout JSONWriter, limit: Int, count: Int64) throws
    -> WrittenChanges
  {
    if let seen, let part = cache.find(at: seen, { $0.parts[zone, count, history.epoch] }),
      writer.count + part.bytes.count <= limit
    {
      writer.rawValue(part.bytes)
      return part.written
    }
    let start = writer.count
    let (last, changes, hasMore) = try feed.write(
      zone: zone.zone, after: zone.ack.seq, to: &writer, limit: limit, most: count)
    let written = WrittenChanges(last: last, count: changes, hasMore: hasMore, seq: zone.seq)
    if let seen, !hasMore || changes >= count,
      cache.find(at: seen, { $0.parts.wants(writer.count - start, of: zone, count, history.epoch) }) == true
    {
      let bytes = writer.withBytes { Array($0[start...]) }
      cache.keep(at: seen) { $0.parts.put(bytes, written, of: zone, count, history.epoch) }
    }
    return written
  }
}

extension SQLiteReader {
  package func erasedUser(after id: String) throws -> String? {
    try connection.value(
      "SELECT id FROM holdfast_accounts WHERE erasure = 1 AND id > ? ORDER BY id LIMIT 1", [.text(id)])?.text
  }

  package func erasedZones() throws -> TextMap<Int64> {
    var zones: TextMap<Int64> = [:]
    try connection.forEachRow("SELECT zone, erased FROM holdfast_zones WHERE erased > 0") { row in
      zones[row.text(0)] = row.integer(1)
    }
    return zones
  }

  func emptyLog() throws -> Bool {
    // The checkpoint blocks writers while it waits for readers, so the wait is short.
    try connection.execute("PRAGMA busy_timeout = 250")
    defer { try? connection.execute("PRAGMA busy_timeout = 5000") }
    return try connection.row("PRAGMA wal_checkpoint(TRUNCATE)", [])?[0].integer == 0
  }
}

extension SQLiteReader {
  package func lag(of user: String?) throws -> [DeviceLag] {
    let rows = try connection.rows(
      """
      SELECT d.id, d.name, d.seen_at, d.app, d.app_schema, count(z.zone), coalesce(sum(z.seq > a.seq), 0),
      coalesce(sum(max(z.seq - a.seq, 0)), 0) FROM holdfast_devices d
      LEFT JOIN holdfast_acks a ON a.device = d.number
      LEFT JOIN holdfast_zones z ON z.zone = a.zone
      WHERE ?1 IS NULL OR d.user = ?1 GROUP BY d.number ORDER BY d.number
      """, [user.map { SQLiteValue.text($0) } ?? .null])
    return rows.map { row in
      DeviceLag(
        id: row[0].text ?? "", name: row[1].text ?? "", seenAt: row[2].integer ?? 0,
        client: row[3].text.map { ClientVersion(app: $0, schema: row[4].text ?? "") },
        zones: Int(row[5].integer ?? 0), behind: Int(row[6].integer ?? 0), changes: row[7].integer ?? 0)
    }
  }
}
