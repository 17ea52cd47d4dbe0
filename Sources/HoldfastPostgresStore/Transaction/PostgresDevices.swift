import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// The devices that a transaction has locked, with their acks and refusals; what it changes is written at its end.
final class PostgresDevices: DeviceTable {
  struct Row {
    let id: String
    let user: String
    var token: [UInt8]?
    var confirmed: Int64
    var chain: Int64
    var acknowledgedRefusals: Int64
    var applied: [UInt8]
    let issuedAfter: Int64?
    var clock: Int64
    /// When it was last seen, where it has moved.
    var seenAt: Int64 = 0
    var isSessionUsed: Bool
    var hasMoved = false
    /// The last numbers of the refusals that it has not dealt with.
    var refusals: [Int64] = []
    var ackCount: Int64 = 0
    /// Up to where refusals are to be purged.
    var purged: Int64 = 0
    var clearsAcks = false
    var hasPurgedAcks = false
    let isUnseenSinceRestore: Bool
  }

  struct AckKey: Hashable {
    let device: Int64
    let zone: String
  }

  struct Refusal {
    let device: Int64
    let first: Int64
    let last: Int64
    let operation: Int64
    let problem: [UInt8]
  }

  private unowned let store: PostgresStore
  /// By number; those that are locked.
  var rows: [Int64: Row] = [:]
  var acks: [AckKey: ZoneAck?] = [:]
  /// Those that count as of a zone that was lost in between, if they are not known.
  var doubtedAcks: Set<AckKey> = []
  var newRefusals: [Refusal] = []
  /// Zones that all devices of a user lose.
  var losses: [(zone: String, user: String, seq: Int64)] = []

  private static let findOwner: PostgresStatement =
    "SELECT id, account FROM holdfast.devices WHERE number = $1"
  private static let findAck: PostgresStatement =
    "SELECT 1 FROM holdfast.acks WHERE device = $1 AND zone = $2 AND seq >= $3 AND NOT lost"
  private static let findForeignAcks: PostgresStatement =
    "SELECT zone FROM holdfast.acks WHERE device = $1 AND epoch NOT IN ('', $2) AND NOT lost"
  private static let findUserAck: PostgresStatement = """
    SELECT a.zone FROM holdfast.devices d JOIN holdfast.acks a ON a.device = d.number AND a.zone = $2
    WHERE d.account = $1 AND a.epoch NOT IN ('', $3) AND NOT a.lost LIMIT 1
    """
  private static let dropToken: PostgresStatement = """
    UPDATE holdfast.devices SET token_hash = CASE WHEN issued_after IS NULL THEN NULL ELSE token_hash END,
      issued_after = CASE WHEN issued_after IS NULL THEN NULL ELSE $2::bigint END WHERE number = $1
    """
  private static let stripDevice: PostgresStatement = """
    UPDATE holdfast.devices SET name = '', token_hash = NULL, scope = NULL, issued_after = NULL, app = NULL,
      app_schema = NULL WHERE number = $1
    """
  private static let findToken: PostgresStatement =
    "SELECT number FROM holdfast.devices WHERE token_hash = $1"
  private static let findOwned: PostgresStatement = """
    SELECT number, id, token_hash IS NOT NULL FROM holdfast.devices WHERE account = $1 ORDER BY number
    """

  private static let findNumber: PostgresStatement =
    "SELECT number FROM holdfast.devices WHERE id = $1 AND account = $2"
  private static let findLeastRecent: PostgresStatement = """
    SELECT number, id FROM holdfast.devices WHERE account = $1 ORDER BY token_hash IS NULL OR issued_after IS NOT NULL
      OR scope IS NOT NULL, seen_at DESC, number DESC LIMIT 1 OFFSET $2
    """
  private static let hasToken: PostgresStatement = """
    SELECT id FROM holdfast.devices WHERE number = $1 AND token_hash IS NOT NULL AND issued_after IS NULL
      AND scope IS NULL
    """
  private static let writeClient: PostgresStatement =
    "UPDATE holdfast.devices SET app = $2, app_schema = $3 WHERE number = $1"
  private static let rememberDevice: PostgresStatement =
    "UPDATE holdfast.devices SET acks_purged = false WHERE number = $1"

  init(_ store: PostgresStore) { self.store = store }

  /// A new transaction begins.
  func begin() {
    rows.removeAll(keepingCapacity: true)
    acks.removeAll(keepingCapacity: true)
    doubtedAcks.removeAll(keepingCapacity: true)
    newRefusals.removeAll(keepingCapacity: true)
    losses.removeAll(keepingCapacity: true)
  }

  func device(_ key: DeviceKey) throws -> DeviceState? {
    guard let row = rows[key.number], row.token == key.token.withBytes({ Array($0) }) else { return nil }
    return DeviceState(
      id: row.id, user: row.user, confirmed: row.confirmed,
      chain: Fingerprint(value: UInt64(bitPattern: row.chain)),
      acknowledgedRefusals: row.acknowledgedRefusals,
      applied: AppliedChangeSets(bytes: row.applied), clock: Stamp(rawValue: row.clock),
      isSessionUsed: row.isSessionUsed,
      issuedAfter: row.issuedAfter, hasPurgedAcks: row.hasPurgedAcks,
      isUnseenSinceRestore: row.isUnseenSinceRestore)
  }

  func owner(of number: Int64) throws -> (id: String, user: String)? {
    if let row = rows[number] { return (row.id, row.user) }
    if number == 0 { return nil }
    let found = try store.connection.query(Self.findOwner, PostgresParameters(number))
    return found.isEmpty ? nil : (found.text(0, 0), found.text(0, 1))
  }

  func advance(_ number: Int64, to state: DeviceState, clock: Stamp, at now: Int64) throws {
    rows[number]?.confirmed = state.confirmed
    rows[number]?.chain = Int64(bitPattern: state.chain.value)
    rows[number]?.acknowledgedRefusals = state.acknowledgedRefusals
    rows[number]?.applied = state.applied.bytes
    rows[number]?.clock = clock.rawValue
    rows[number]?.seenAt = now
    rows[number]?.isSessionUsed = true
    rows[number]?.hasMoved = true
  }

  func refusals(_ number: Int64, after last: Int64) throws -> Int {
    rows[number]?.refusals.count { $0 > last } ?? 0
  }

  func purgeRefusals(_ number: Int64, upTo last: Int64) throws {
    guard rows[number]?.refusals.contains(where: { $0 <= last }) == true else { return }
    rows[number]?.refusals.removeAll { $0 <= last }
    rows[number]?.purged = last
    newRefusals.removeAll { $0.device == number && $0.last <= last }
  }

  func addRefusal(_ number: Int64, first: Int64, count: Int, _ refused: RefusedOperation) throws {
    let last = first + Int64(count) - 1
    rows[number]?.refusals.append(last)
    newRefusals.append(
      Refusal(
        device: number, first: first, last: last, operation: first + Int64(min(refused.index, count - 1)),
        problem: refused.problem.document))
  }

  func hasAcks(_ number: Int64, beyond limit: Int) throws -> Bool { rows[number]?.ackCount ?? 0 > limit }

  func hasAcks(_ number: Int64, notOf epoch: String) throws -> Bool {
    func isForeign(_ key: AckKey, _ ack: ZoneAck?) -> Bool {
      guard key.device == number, let ack, !doubtedAcks.contains(key) else { return false }
      return !ack.epoch.isEmpty && ack.epoch != epoch
    }
    if acks.contains(where: isForeign) { return true }
    if rows[number]?.clearsAcks == true { return false }
    let found = try store.connection.query(Self.findForeignAcks, PostgresParameters(number, epoch))
    return found.indices.contains { acks[AckKey(device: number, zone: found.text($0, 0))] == nil }
  }

  func hasAck(of zone: String, by user: String, notOf epoch: String) throws -> Bool {
    let isPending = acks.contains { key, ack in
      guard key.zone == zone, rows[key.device]?.user == user, let ack, !doubtedAcks.contains(key) else {
        return false
      }
      return !ack.epoch.isEmpty && ack.epoch != epoch
    }
    if isPending { return true }
    return try !store.connection.query(Self.findUserAck, PostgresParameters(user, zone, epoch)).isEmpty
  }

  func hasAcked(_ seq: Int64, of zone: String, device: Int64) throws -> Bool {
    if losses.contains(where: { $0.zone == zone && $0.user == rows[device]?.user }) { return false }
    let key = AckKey(device: device, zone: zone)
    if let pending = acks[key], !doubtedAcks.contains(key) {
      return pending.map { $0.seq >= seq } ?? false
    }
    if rows[device]?.clearsAcks == true { return false }
    return try !store.connection.query(Self.findAck, PostgresParameters(device, zone, seq)).isEmpty
  }

  func purgeAcks(_ number: Int64) throws {
    rows[number]?.clearsAcks = true
    acks = acks.filter { $0.key.device != number }
  }

  func setAck(_ number: Int64, zone: String, _ ack: ZoneAck?, isDoubted: Bool) throws {
    let key = AckKey(device: number, zone: zone)
    acks[key] = .some(ack)
    if isDoubted, ack?.epoch.isEmpty == false { doubtedAcks.insert(key) } else { doubtedAcks.remove(key) }
  }

  func setClient(_ client: ClientVersion, of number: Int64) throws {
    try store.connection.run(Self.writeClient, PostgresParameters(number, client.app, client.schema))
  }

  func remember(_ number: Int64) throws {
    try store.connection.run(Self.rememberDevice, PostgresParameters(number))
    rows[number]?.hasPurgedAcks = false
  }

  func noteLoss(of zone: String, by user: String, at seq: Int64) throws { losses.append((zone, user, seq)) }

  /// What is added to the number of each user who loses zones.
  var lossesByUser: [(user: String, sum: Int64)] {
    var sums: TextMap<Int64> = [:]
    for loss in losses { sums[loss.user, default: 0] += loss.seq &+ 1 }
    // In one order, as each is a lock.
    return sums.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  func add(_ device: NewDevice) throws { try store.writing.add(device) }

  func session(of device: String, user: String) throws -> LastSession? {
    try store.writing.session(of: device, user: user)
  }

  func beginSession(_ number: Int64, of device: String, name: String, token: TokenHash, at now: Int64) throws
  {
    try store.writing.beginSession(number, of: device, name: name, token: token, at: now)
  }

  func hasDevice(of token: TokenHash) throws -> Bool {
    let hash = PostgresParameters(token.withBytes { Array($0) })
    return try !store.connection.query(Self.findToken, hash).isEmpty
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
    // Those without a session come last.
    guard !rows.isEmpty,
      try !store.connection.query(Self.hasToken, PostgresParameters(rows.int64(0, 0))).isEmpty
    else { return nil }
    return rows.int64(0, 0)
  }

  func revoke(_ number: Int64, at now: Int64) throws {
    try store.connection.run(Self.dropToken, PostgresParameters(number, now))
    rows[number]?.token = nil
  }

  func strip(_ numbers: [Int64]) throws {
    try store.connection.pipeline { pipe in
      for number in numbers { pipe.send(Self.stripDevice, PostgresParameters(number)) }
    }
    for number in numbers { rows[number]?.token = nil }
  }
}
