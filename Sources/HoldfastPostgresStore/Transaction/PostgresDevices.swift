import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// The devices, their acks and their refusals in PostgreSQL.
final class PostgresDevices: DeviceTable {
  private unowned let store: PostgresStore

  private static let findOwner: PostgresStatement =
    "SELECT id, account FROM holdfast.devices WHERE number = $1"
  private static let findAck: PostgresStatement =
    "SELECT 1 FROM holdfast.acks WHERE device = $1 AND zone = $2 AND seq >= $3 AND NOT lost"
  private static let findAckBeyond: PostgresStatement =
    "SELECT a.zone FROM holdfast.acks a WHERE a.device = $1 LIMIT 1 OFFSET $2"
  private static let findForeignAcks: PostgresStatement =
    "SELECT zone FROM holdfast.acks WHERE device = $1 AND epoch NOT IN ('', $2) AND NOT lost LIMIT $3"
  private static let findLeft: PostgresStatement =
    "SELECT EXISTS (SELECT FROM holdfast.zones WHERE left_for IS NOT NULL)"
  private static let findUserAck: PostgresStatement = """
    SELECT a.zone FROM holdfast.devices d JOIN holdfast.acks a ON a.device = d.number AND a.zone = $2
    WHERE d.account = $1 AND a.epoch NOT IN ('', $3) AND NOT a.lost LIMIT 1
    """
  private static let dropToken: PostgresStatement = """
    UPDATE holdfast.devices SET token_hash = CASE WHEN issued_after IS NULL THEN NULL ELSE token_hash END,
      ended_session = greatest(ended_session, pass_session), pass_session = 0,
      ticket_hash = NULL, issued_after = CASE WHEN issued_after IS NULL THEN NULL ELSE $2::bigint END WHERE number = $1
    """
  private static let stripDevices: PostgresStatement = """
    UPDATE holdfast.devices SET name = '', token_hash = NULL, ticket_hash = NULL, scope = NULL, issued_after = NULL,
      ended_session = greatest(ended_session, pass_session), pass_session = 0, app = NULL, app_schema = NULL
    WHERE number = ANY ($1)
    """
  private static let dropPushTokens: PostgresStatement =
    "DELETE FROM holdfast.push_tokens WHERE token_hash = ANY ($1)"
  private static let putPushToken: PostgresStatement = """
    INSERT INTO holdfast.push_tokens (device, kind, token, token_hash) VALUES ($1, $2, $3, $4)
    ON CONFLICT (device) DO UPDATE SET kind = excluded.kind, token = excluded.token, token_hash = excluded.token_hash
    """
  private static let findRevocation: PostgresStatement =
    "SELECT issued_after FROM holdfast.devices WHERE token_hash = $1"
  private static let findOwned: PostgresStatement = """
    SELECT number, id, token_hash IS NOT NULL FROM holdfast.devices WHERE account = $1 ORDER BY number
    """

  private static let findNumber: PostgresStatement =
    "SELECT number FROM holdfast.devices WHERE id = $1 AND account = $2"
  private static let findLeastRecent = PostgresStatement(
    """
    SELECT d.number, d.id FROM holdfast.devices d WHERE d.account = $1
    ORDER BY NOT (\(KnownDevice.hasSession)), d.seen_at DESC, d.number DESC LIMIT 1 OFFSET $2
    """)
  private static let findWithSession = PostgresStatement(
    "SELECT d.id FROM holdfast.devices d WHERE d.number = $1 AND \(KnownDevice.hasSession)")
  private static let writeClient: PostgresStatement =
    "UPDATE holdfast.devices SET app = $2, app_schema = $3 WHERE number = $1"
  private static let rememberDevice: PostgresStatement =
    "UPDATE holdfast.devices SET acks_purged = false WHERE number = $1"

  private static let addDevice: PostgresStatement = """
    INSERT INTO holdfast.devices (id, account, name, token_hash, clock, seen_at, session_at, scope, issued_after)
    VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8)
    """
  private static let findSession = PostgresStatement(
    """
    SELECT d.session, d.session_used, d.applied FROM holdfast.devices d
    WHERE d.id = $1 AND d.account = $2 AND \(KnownDevice.takesSessions) FOR NO KEY UPDATE
    """)
  private static let changeSession: PostgresStatement = """
    UPDATE holdfast.devices SET token_hash = $1, ticket_hash = NULL, name = $2, seen_at = $3, session_at = $3, session = $4,
      ended_session = greatest(ended_session, pass_session), pass_session = 0, session_used = false WHERE id = $5
    """
  private static let putTicket: PostgresStatement =
    "UPDATE holdfast.devices SET ticket_hash = $2, ticket_until = $3 WHERE number = $1"
  private static let dropTicket: PostgresStatement = """
    UPDATE holdfast.devices SET ticket_hash = NULL WHERE ticket_hash = $1 AND ticket_until > $2 RETURNING token_hash
    """

  init(_ store: PostgresStore) { self.store = store }

  func row(_ number: Int64) throws -> DeviceRow? {
    let numbers = PostgresParameters(array: [number])
    let answers = try store.reading.pipeline { pipe in
      pipe.send(store.statements.lockDevices, numbers)
      pipe.send(PostgresStatements.findRefusals, numbers)
      pipe.send(PostgresStatements.countAcks, numbers)
    }
    return DeviceRow(answers)
  }

  func owner(of number: Int64) throws -> (id: String, user: String)? {
    let found = try store.reading.query(Self.findOwner, PostgresParameters(number))
    return found.isEmpty ? nil : (found.text(0, 0), found.text(0, 1))
  }

  func hasAcks(_ number: Int64, beyond limit: Int) throws -> Bool {
    try !store.reading.query(Self.findAckBeyond, PostgresParameters(number, Int64(limit))).isEmpty
  }

  func ackedZones(of number: Int64, notOf epoch: String, limit: Int) throws -> [String] {
    let parameters = PostgresParameters(number, epoch, Int64(limit))
    return try store.reading.query(Self.findForeignAcks, parameters).texts
  }

  func hasLeftZones() throws -> Bool {
    try store.reading.query(Self.findLeft, PostgresParameters()).bool(0, 0)
  }

  func hasAck(of zone: String, by user: String, notOf epoch: String) throws -> Bool {
    try !store.reading.query(Self.findUserAck, PostgresParameters(user, zone, epoch)).isEmpty
  }

  func hasAcked(_ seq: Int64, of zone: String, device: Int64) throws -> Bool {
    try !store.reading.query(Self.findAck, PostgresParameters(device, zone, seq)).isEmpty
  }

  func setClient(_ client: ClientVersion, of number: Int64) throws {
    try store.connection.run(Self.writeClient, PostgresParameters(number, client.app, client.schema))
  }

  func remember(_ number: Int64) throws {
    try store.connection.run(Self.rememberDevice, PostgresParameters(number))
  }

  func add(_ device: NewDevice) throws {
    try store.connection.run(
      Self.addDevice,
      PostgresParameters(
        device.id, device.user, device.name, device.token.withBytes { Array($0) }, device.clock.rawValue,
        device.seenAt, device.scope, device.issuedAfter))
  }

  func session(of device: String, user: String) throws -> LastSession? {
    let rows = try store.connection.query(Self.findSession, PostgresParameters(device, user))
    if rows.isEmpty { return nil }
    return LastSession(
      number: rows.int64(0, 0), isUsed: rows.bool(0, 1), applied: AppliedChangeSets(bytes: rows.bytes(0, 2)))
  }

  func beginSession(_ number: Int64, of device: String, name: String, token: TokenHash, at now: Int64) throws
  {
    try store.connection.run(
      Self.changeSession,
      PostgresParameters(token.withBytes { Array($0) }, name, now, number, device))
  }

  func issuedAfter(of key: TokenHash) throws -> Int64? {
    let rows = try store.connection.query(
      Self.findRevocation, PostgresParameters(key.withBytes { Array($0) }))
    return rows.isEmpty || rows.isNull(0, 0) ? nil : rows.int64(0, 0)
  }

  func devices(of user: String) throws -> [OwnedDevice] {
    let found = try store.connection.query(Self.findOwned, PostgresParameters(user))
    return found.indices.map {
      OwnedDevice(number: found.int64($0, 0), id: found.text($0, 1), hasToken: found.bool($0, 2))
    }
  }

  func number(of device: String, user: String) throws -> Int64? {
    let rows = try store.connection.query(Self.findNumber, PostgresParameters(device, user))
    return rows.isEmpty ? nil : rows.int64(0, 0)
  }

  func leastRecent(of user: String, whereAtLeast limit: Int) throws -> Int64? {
    let rows = try store.connection.query(
      Self.findLeastRecent, PostgresParameters(user, Int64(max(1, limit) - 1)))
    // The order puts devices without a session last.
    guard !rows.isEmpty,
      try !store.connection.query(Self.findWithSession, PostgresParameters(rows.int64(0, 0))).isEmpty
    else { return nil }
    return rows.int64(0, 0)
  }

  func revoke(_ number: Int64, at now: Int64) throws {
    try store.connection.run(Self.dropToken, PostgresParameters(number, now))
    try setPushToken(nil, of: number)
  }

  func setPushToken(_ token: PushToken?, of number: Int64) throws {
    guard let token else {
      try store.connection.run(PostgresPurgeStatements.dropPushTokens, PostgresParameters(array: [number]))
      return
    }
    try removePushTokens([token.token])
    try store.connection.run(
      Self.putPushToken,
      PostgresParameters(number, token.kind, token.token, PushToken.hash(of: token.token)))
  }

  func removePushTokens(_ tokens: [String]) throws {
    if tokens.isEmpty { return }
    let hashes = PostgresParameters(array: tokens.lazy.map { PushToken.hash(of: $0) })
    try store.connection.run(Self.dropPushTokens, hashes)
  }

  func setTicket(_ ticket: TokenHash, until end: Int64, of number: Int64) throws {
    try store.connection.run(
      Self.putTicket, PostgresParameters(number, ticket.withBytes { Array($0) }, end))
  }

  func takeTicket(_ ticket: TokenHash, at now: Int64) throws -> TokenHash? {
    let rows = try store.connection.query(
      Self.dropTicket, PostgresParameters(ticket.withBytes { Array($0) }, now))
    return rows.isEmpty || rows.isNull(0, 0) ? nil : TokenHash(bytes: rows.bytes(0, 0))
  }

  func strip(_ numbers: [Int64]) throws {
    let numbers = PostgresParameters(array: numbers)
    try store.connection.pipeline { pipe in
      pipe.send(Self.stripDevices, numbers)
      pipe.send(PostgresPurgeStatements.dropPushTokens, numbers)
    }
  }
}
