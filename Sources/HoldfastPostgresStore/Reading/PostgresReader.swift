import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Reads from PostgreSQL: docs/POSTGRES.md, section 5.
class PostgresReader: StoreReader {
  let connection: PostgresConnection
  private(set) var history: History
  private let known: KnownHistory
  var prover: Prover { known.prover }
  private let feed: PostgresChangeFeed
  let collections: PostgresCollections
  /// The statements that read records by id.
  let statements: PostgresRecordStatements
  /// The first changes of the refreshed zones.
  private var stretches: TextMap<PostgresChangeFeed.Stretch> = [:]
  /// The user of the refresh.
  private var user: String?
  /// Whether a transaction is open.
  private var isHeld = false
  /// The device of the request, with the data that was read along with it.
  private var found: (device: Int64, user: String, zones: [ZoneProgress], refusals: [StoredRefusal])?

  /// A device with its refusals, one row each. They must come from one snapshot to be consistent.
  static let findDevice: PostgresStatement = """
    SELECT d.number, d.account, d.confirmed, d.chain, d.seen_at, d.acknowledged_refusals, d.session_used,
      r.first, r.last, r.operation, r.problem, d.scope, d.issued_after, d.acks_purged, d.app, d.app_schema,
      d.session_at
    FROM holdfast.devices d LEFT JOIN holdfast.refusals r ON r.device = d.number
    WHERE d.token_hash = $1 ORDER BY r.first
    """
  private static let findAllUnnotified = PostgresStatement(unnotified(""))
  private static let findUnnotified = PostgresStatement(unnotified("AND z.zone = ANY ($2)"))

  private static func unnotified(_ condition: String) -> String {
    """
    SELECT z.zone, z.seq, z.public,
      (SELECT string_agg(m."user", ' ') FROM holdfast.access m WHERE m.zone = z.zone)
    FROM holdfast.zones z LEFT JOIN holdfast.notified t ON t.zone = z.zone
    WHERE z.seq > coalesce(t.seq, 0) \(condition) ORDER BY z.zone LIMIT $1
    """
  }

  private static let findClaims: PostgresStatement =
    "SELECT c.zone, c.device, c.state, c.proven FROM holdfast.zone_claims c WHERE c.account = $1"
  private static let findRestored: PostgresStatement =
    "SELECT z.zone, z.restored, z.purged FROM holdfast.zones z WHERE z.zone = ANY ($1)"
  private static let findUser: PostgresStatement = """
    SELECT a.id, a.name, i.issuer FROM holdfast.accounts a LEFT JOIN holdfast.identities i ON i.account = a.id
    WHERE a.name = $1 AND a.erasure = 0 LIMIT 1
    """
  private static let findAccountOfID: PostgresStatement =
    "SELECT name, password FROM holdfast.accounts WHERE id = $1 AND erasure = 0"
  private static let listDevices: PostgresStatement = """
    SELECT number, id, name, seen_at, token_hash IS NOT NULL AND issued_after IS NULL FROM holdfast.devices
    WHERE account = $1 ORDER BY seen_at DESC, number DESC LIMIT $2
    """
  private static let findAccount: PostgresStatement =
    "SELECT id, password FROM holdfast.accounts WHERE name = $1"
  private static let findZones: PostgresStatement = """
    SELECT a.zone, a.epoch, a.seq, coalesce(z.seq, 0), coalesce(z.purged, 0),
      coalesce(m.role, CASE WHEN z.public THEN 'viewer' END, ''), a.lost, true, a.purged
    FROM holdfast.devices d JOIN holdfast.acks a ON a.device = d.number
    LEFT JOIN holdfast.zones z ON z.zone = a.zone
    LEFT JOIN holdfast.access m ON m.zone = a.zone AND m."user" = d.account WHERE d.token_hash = $1
    UNION ALL
    SELECT m.zone, '', 0, z.seq, z.purged, m.role, false, false, 0
    FROM holdfast.devices d JOIN holdfast.access m ON m."user" = d.account
    JOIN holdfast.zones z ON z.zone = m.zone WHERE d.token_hash = $1
    AND NOT EXISTS (SELECT 1 FROM holdfast.acks a WHERE a.device = d.number AND a.zone = m.zone)
    """
  static let findMemberships: PostgresStatement = """
    SELECT m.zone, z.seq, z.purged, m.role FROM holdfast.access m JOIN holdfast.zones z ON z.zone = m.zone
    WHERE m."user" = $1
    """

  init(
    _ connection: PostgresConnection, _ known: KnownHistory, _ feed: PostgresChangeFeed,
    _ statements: PostgresRecordStatements, _ collections: PostgresCollections
  ) {
    self.connection = connection
    self.known = known
    history = known.now
    self.feed = feed
    self.statements = statements
    self.collections = collections
  }

  /// Begins another request. Discards the data of the previous one.
  func begin() { (found, stretches) = (nil, [:]) }

  /// Opens no transaction: one statement reads a device with its refusals, and a later one reads the zones. Each stretch of changes is read
  /// together with its zones.
  func transaction<Result>(_ body: () throws -> Result) throws -> Result { try body() }

  func device(_ token: TokenHash) throws -> KnownDevice? {
    var parameters = PostgresParameters()
    token.withBytes { parameters.append(bytes: $0) }
    let (rows, zones) = try findDevice(parameters)
    guard !rows.isEmpty else { return nil }
    found = (rows.int64(0, 0), rows.text(0, 1), zones, Self.refusals(rows))
    return KnownDevice(
      key: DeviceKey(
        number: rows.int64(0, 0), user: rows.text(0, 1), token: token,
        use: try .init(scope: rows.optionalText(0, 11))),
      confirmed: rows.int64(0, 2), chain: Fingerprint(value: UInt64(bitPattern: rows.int64(0, 3))),
      seenAt: rows.int64(0, 4), sessionAt: rows.int64(0, 16), acknowledgedRefusals: rows.int64(0, 5),
      isSessionUsed: rows.bool(0, 6),
      issuedAfter: rows.isNull(0, 12) ? nil : rows.int64(0, 12), hasPurgedAcks: rows.bool(0, 13),
      client: rows.optionalText(0, 14).map { ClientVersion(app: $0, schema: rows.optionalText(0, 15) ?? "") })
  }

  /// Records the history that was read.
  func learn(history rows: PostgresRows) throws {
    history = try PostgresEpoch.history(rows)
    known.see(history)
  }

  /// Reads the history, then the rows of a device with its refusals, and its zones.
  ///
  /// - Parameter parameters: the hash of the device's token.
  func findDevice(_ parameters: PostgresParameters) throws -> (PostgresRows, [ZoneProgress]) {
    let answers = try connection.pipeline { pipe in
      pipe.send(PostgresEpoch.find)
      pipe.send(Self.findDevice, parameters)
      pipe.send(Self.findZones, parameters)
    }
    try learn(history: answers[0])
    return (answers[1], Self.zones(answers[2]))
  }

  /// The ledger rows of records that a user may read, with their values; and the requests by which the user created them.
  ///
  /// - Parameter creators: the parameters of the statement for these requests.
  func findRecords(
    _ ids: [String], _ source: PostgresRecordStatements.Source, _ user: String?,
    _ creators: PostgresParameters
  ) throws -> (records: [PostgresRows], creators: PostgresRows) {
    var wanted = PostgresParameters()
    wanted.append(array: ids)
    wanted.append(user)
    let answers = try connection.pipeline { pipe in
      pipe.send(source.find, wanted)
      pipe.send(PostgresRecordStatements.findCreators, creators)
    }
    return ([answers[0]], answers[1])
  }

  func user(named name: String) throws -> FoundUser? {
    let rows = try connection.query(Self.findUser, PostgresParameters(name))
    return rows.isEmpty
      ? nil : FoundUser(id: rows.text(0, 0), name: rows.text(0, 1), issuer: rows.optionalText(0, 2))
  }

  func account(_ name: String) throws -> (id: String, password: String)? {
    let rows = try connection.query(Self.findAccount, PostgresParameters(name))
    return rows.isEmpty ? nil : (rows.text(0, 0), rows.text(0, 1))
  }

  func account(id: String) throws -> (name: String, password: String)? {
    let rows = try connection.query(Self.findAccountOfID, PostgresParameters(id))
    return rows.isEmpty ? nil : (rows.text(0, 0), rows.text(0, 1))
  }

  func devices(of user: String, limit: Int) throws -> [ListedDevice] {
    let rows = try connection.query(Self.listDevices, PostgresParameters(user, Int64(limit)))
    return rows.indices.map {
      ListedDevice(
        number: rows.int64($0, 0), id: rows.text($0, 1), name: rows.text($0, 2), seenAt: rows.int64($0, 3),
        hasSession: rows.bool($0, 4))
    }
  }

  func zones(of device: DeviceKey) throws -> [ZoneProgress] {
    if let found, found.device == device.number { return found.zones }
    return try findZones(of: device)
  }

  func findZones(of device: DeviceKey) throws -> [ZoneProgress] {
    var parameters = PostgresParameters()
    device.token.withBytes { parameters.append(bytes: $0) }
    return Self.zones(try connection.query(Self.findZones, parameters))
  }

  func refusals(of device: Int64) throws -> [StoredRefusal] {
    if let found, found.device == device { return found.refusals }
    throw ServerError(.damaged, "The refusals of a device are read with it alone.")
  }

  func unnotified(_ zones: [String]?, limit: Int) throws -> [UnnotifiedZone] {
    var parameters = PostgresParameters(Int64(limit))
    if let zones { parameters.append(array: zones) }
    let rows = try findUnnotified(parameters, isForAll: zones == nil)
    return rows.indices.map { row in
      UnnotifiedZone(
        zone: rows.text(row, 0), seq: rows.int64(row, 1), isPublic: rows.bool(row, 2),
        users: (rows.optionalText(row, 3) ?? "").split(separator: " ").map(String.init))
    }
  }

  func findUnnotified(_ parameters: PostgresParameters, isForAll: Bool) throws -> PostgresRows {
    try connection.query(isForAll ? Self.findAllUnnotified : Self.findUnnotified, parameters)
  }

  func moment<Result>(_ body: () throws -> Result) throws -> Result {
    try connection.run(PostgresChangeFeed.begin)
    isHeld = true
    defer {
      isHeld = false
      // The transaction has only read, so its end does not matter.
      _ = try? connection.run(PostgresChangeFeed.end)
    }
    return try body()
  }

  func zone(_ zone: String, for user: String?) throws -> ZoneProgress? {
    if let found, found.user == user, let seen = found.zones.first(where: { $0.zone == zone }) {
      return seen.acked(nil)
    }
    return try feed.zone(zone, for: user, on: connection)
  }

  func claims(of user: String) throws -> TextMap<ZoneClaim.Mark> {
    let rows = try connection.query(Self.findClaims, PostgresParameters(user))
    let claims = rows.indices.map {
      (
        rows.text($0, 0),
        ZoneClaim.Mark(device: rows.int64($0, 1), state: rows.int64($0, 2), isProven: rows.bool($0, 3))
      )
    }
    return TextMap(claims)
  }

  func memberships(of user: String) throws -> [String] {
    try connection.query(Self.findMemberships, PostgresParameters(user)).texts.sorted()
  }

  func restored(_ zones: [String]) throws -> TextMap<RestoredZone> {
    var names = PostgresParameters()
    names.append(array: zones)
    let rows = try connection.query(Self.findRestored, names)
    return TextMap(
      rows.indices.map {
        (rows.text($0, 0), RestoredZone(seq: rows.int64($0, 1), purged: rows.int64($0, 2)))
      })
  }

  func refreshed(_ zones: [ZoneProgress], for user: String?) throws -> [ZoneProgress] {
    stretches = [:]
    let read = try feed.read(zones, for: user, size: PostgresChangeFeed.first, isHeld: isHeld, on: connection)
    for stretch in read { stretches[stretch.zone.zone] = stretch }
    self.user = user
    return read.map(\.zone)
  }

  func lag(of user: String?) throws -> [DeviceLag] {
    try PostgresPurge(connection: connection).lag(of: user)
  }

  func purgeable(_ kind: Purgeable.Kind, after place: String, _ terms: RetentionTerms, limit: Int) throws
    -> FoundPurgeable
  {
    try PostgresPurge(connection: connection).find(kind, after: place, terms, limit: limit)
  }

  func writeChanges(of zone: ZoneProgress, to writer: inout JSONWriter, limit: Int, count: Int64) throws
    -> WrittenChanges
  {
    guard let first = stretches.removeValue(forKey: zone.zone) else {
      throw ServerError(.damaged, "The changes of a zone are read when it was refreshed, and once.")
    }
    return try feed.write(
      first, for: user, to: &writer, limit: limit, count: count, isHeld: isHeld, on: connection)
  }

  private static func zones(_ rows: PostgresRows) -> [ZoneProgress] {
    rows.indices.map { row in
      let zone = rows.text(row, 0)
      return ZoneProgress(
        zone: zone,
        ack: ZoneAck(
          zone: zone, epoch: rows.text(row, 1), seq: rows.int64(row, 2), purged: rows.int64(row, 8)),
        isStored: rows.bool(row, 7), seq: rows.int64(row, 3), purged: rows.int64(row, 4),
        role: rows.text(row, 5), wasLost: rows.bool(row, 6))
    }
  }

  private static func refusals(_ rows: PostgresRows) -> [StoredRefusal] {
    rows.indices.filter { !rows.isNull($0, 7) }.map { row in
      StoredRefusal(
        first: rows.int64(row, 7), last: rows.int64(row, 8), operation: rows.int64(row, 9),
        problem: rows.bytes(row, 10))
    }
  }
}

extension PostgresReader {
  private static let findErased: PostgresStatement =
    "SELECT id FROM holdfast.accounts WHERE erasure = 1 AND id > $1 ORDER BY id LIMIT 1"
  private static let findErasedZones: PostgresStatement =
    "SELECT z.zone, z.erased FROM holdfast.zones z WHERE z.erased > 0"

  package func erasedUser(after id: String) throws -> String? {
    try connection.query(Self.findErased, PostgresParameters(id)).texts.first
  }

  package func erasedZones() throws -> TextMap<Int64> {
    let rows = try connection.query(Self.findErasedZones, PostgresParameters())
    return TextMap(
      rows.indices.map { (rows.text($0, 0), rows.int64($0, 1)) }, uniquingKeysWith: { first, _ in first })
  }

  /// The server does not manage PostgreSQL's log.
  func emptyLog() -> Bool { true }
}

extension PostgresReader {
  package func records(_ ids: [String], of table: Int, for user: String?) throws -> TextMap<SeenRecord> {
    let source = statements.sources[table]
    // Records have no other ids, and PostgreSQL rejects texts with U+0000.
    let ids = TextSet(ids.filter(Identifier.isPossible)).sorted()
    if ids.isEmpty { return [:] }
    var creators = PostgresParameters(user, source.table.name)
    creators.append(array: ids)
    let (rows, created) = try findRecords(ids, source, user, creators)
    var requests: TextMap<String> = [:]
    for row in created.indices { requests[created.text(row, 0)] = created.text(row, 1) }
    var found: TextMap<SeenRecord> = [:]
    for rows in rows {
      for row in rows.indices {
        let (id, zone) = (rows.text(row, 0), rows.text(row, 1))
        let place = RecordPlace(rows, row)
        guard place.state == .live else {
          // A live record replaces its tombstones in other zones.
          if found[id] == nil { found[id] = .deleted(Tombstone(place, zone: zone)) }
          continue
        }
        let record = StoredRecord(
          table: table, id: id, zone: zone, seq: place.seq, rev: place.rev, stamps: place.stamps ?? "",
          values: source.columns.indices.map {
            rows.value(row, RecordPlace.end + $0, source.columns[$0].type)
          })
        found[id] = .live(record, creator: requests[id])
      }
    }
    return found
  }

}
