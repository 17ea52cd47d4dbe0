import HoldfastCore
import HoldfastPostgres

/// Reads from PostgreSQL; docs/POSTGRES.md, section 5.
final class PostgresReader: StoreReader {
  private let connection: PostgresConnection
  private let feed: PostgresChangeFeed
  private var isInTransaction = false
  private var hasBegun = false
  /// What was read with the device of the transaction.
  private var known: (device: Int64, zones: [ZoneState], refusals: [StoredRefusal])?

  private static let begin: PostgresStatement = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
  private static let end: PostgresStatement = "COMMIT"
  private static let findDevice: PostgresStatement = """
    SELECT number, account, confirmed, chain, seen_at, answered, session_used FROM holdfast.devices
    WHERE token_hash = $1
    """
  private static let findAccount: PostgresStatement =
    "SELECT id, password FROM holdfast.accounts WHERE name = $1"
  private static let findZones: PostgresStatement = """
    SELECT a.zone, a.epoch, a.seq, coalesce(z.seq, 0), coalesce(z.purged, 0),
      coalesce(m.role, CASE WHEN z.public THEN 'viewer' END, ''), a.lost, true
    FROM holdfast.devices d JOIN holdfast.acks a ON a.device = d.number
    LEFT JOIN holdfast.zones z ON z.zone = a.zone
    LEFT JOIN holdfast.members m ON m.zone = a.zone AND m."user" = d.account WHERE d.token_hash = $1
    UNION ALL
    SELECT m.zone, '', 0, z.seq, z.purged, m.role, false, false
    FROM holdfast.devices d JOIN holdfast.members m ON m."user" = d.account
    JOIN holdfast.zones z ON z.zone = m.zone WHERE d.token_hash = $1
    AND NOT EXISTS (SELECT 1 FROM holdfast.acks a WHERE a.device = d.number AND a.zone = m.zone)
    """
  private static let findRefusals: PostgresStatement = """
    SELECT r.first, r.last, r.operation, r.problem FROM holdfast.devices d
    JOIN holdfast.refusals r ON r.device = d.number WHERE d.token_hash = $1 ORDER BY r.first
    """

  init(_ connection: PostgresConnection, _ feed: PostgresChangeFeed) {
    self.connection = connection
    self.feed = feed
  }

  /// The transaction begins with its first look at a device, in one round trip.
  func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    (isInTransaction, hasBegun, known) = (true, false, nil)
    defer {
      isInTransaction = false
      // A connection that can't end it is not used again.
      if hasBegun { _ = try? connection.run(Self.end) }
    }
    return try body()
  }

  func device(_ token: TokenHash) throws -> KnownDevice? {
    var parameters = PostgresParameters()
    token.withBytes { parameters.append(bytes: $0) }
    let begins = isInTransaction && !hasBegun
    let answers = try connection.pipeline { pipe in
      if begins { pipe.send(Self.begin) }
      pipe.send(Self.findDevice, parameters)
      guard isInTransaction else { return }
      pipe.send(Self.findZones, parameters)
      pipe.send(Self.findRefusals, parameters)
    }
    if begins { hasBegun = true }
    let rows = answers[begins ? 1 : 0]
    guard !rows.isEmpty else { return nil }
    let number = rows.int64(0, 0)
    if isInTransaction {
      known = (
        number, Self.zones(answers[answers.count - 2]), Self.refusals(answers[answers.count - 1])
      )
    }
    return KnownDevice(
      key: DeviceKey(number: number, user: rows.text(0, 1), token: token), confirmed: rows.int64(0, 2),
      chain: Fingerprint(value: UInt64(bitPattern: rows.int64(0, 3))), seenAt: rows.int64(0, 4),
      answered: rows.int64(0, 5), isSessionUsed: rows.bool(0, 6))
  }

  func account(_ name: String) throws -> (id: String, password: String)? {
    let rows = try connection.query(Self.findAccount, PostgresParameters(name))
    return rows.isEmpty ? nil : (rows.text(0, 0), rows.text(0, 1))
  }

  func zones(of device: DeviceKey) throws -> [ZoneState] {
    if let known, known.device == device.number { return known.zones }
    var parameters = PostgresParameters()
    device.token.withBytes { parameters.append(bytes: $0) }
    return Self.zones(try connection.query(Self.findZones, parameters))
  }

  func refusals(of device: Int64) throws -> [StoredRefusal] {
    if let known, known.device == device { return known.refusals }
    preconditionFailure("Refusals are read with their device.")
  }

  func writeChanges(
    of zone: String, after seq: Int64, to writer: inout JSONWriter, limit: Int
  ) throws -> (last: Int64, count: Int64, hasMore: Bool) {
    try feed.write(zone: zone, after: seq, to: &writer, limit: limit, on: connection)
  }

  private static func zones(_ rows: PostgresRows) -> [ZoneState] {
    rows.indices.map { row in
      let zone = rows.text(row, 0)
      return ZoneState(
        zone: zone, ack: SyncCommand.Ack(zone: zone, epoch: rows.text(row, 1), seq: rows.int64(row, 2)),
        isStored: rows.bool(row, 7), seq: rows.int64(row, 3), purged: rows.int64(row, 4),
        role: rows.text(row, 5), wasLost: rows.bool(row, 6))
    }
  }

  private static func refusals(_ rows: PostgresRows) -> [StoredRefusal] {
    rows.indices.map { row in
      StoredRefusal(
        first: rows.int64(row, 0), last: rows.int64(row, 1), operation: rows.int64(row, 2),
        problem: rows.bytes(row, 3))
    }
  }
}
