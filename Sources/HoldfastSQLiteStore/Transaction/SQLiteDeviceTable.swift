import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// The devices, their acks and their refusals in SQLite, with prepared statements.
final class SQLiteDeviceTable: DeviceTable {
  private let find: Statement
  private let move: Statement
  private let dropRefusals: Statement
  private let addRefusal: Statement
  private let findRefusals: Statement
  private let findAckBeyond: Statement
  private let dropAcks: Statement
  private let dropAck: Statement
  private let putAck: Statement
  private let dropToken: Statement
  private let findOwned: Statement
  private let findAck: Statement
  private let addLoss: Statement
  private let countLoss: Statement
  private let findOwner: Statement
  private let connection: SQLiteConnection

  init(on connection: SQLiteConnection) throws {
    self.connection = connection
    find = try connection.statement(
      """
      SELECT id, user, confirmed, chain, acknowledged_refusals, applied, issued_after, acks_purged, unseen_since_restore, clock, session_used,
        token_hash, seen_at
      FROM holdfast_devices WHERE number = ?
      """
    )
    move = try connection.statement(
      """
      UPDATE holdfast_devices SET confirmed = ?, chain = ?, clock = ?, seen_at = ?, acknowledged_refusals = ?, applied = ?,
        session_used = ?, unseen_since_restore = ?
      WHERE number = ?
      """)
    dropRefusals = try connection.statement("DELETE FROM holdfast_refusals WHERE device = ? AND last <= ?")
    addRefusal = try connection.statement(
      "INSERT INTO holdfast_refusals (device, first, last, operation, problem) VALUES (?, ?, ?, ?, ?)")
    findRefusals = try connection.statement(
      "SELECT last FROM holdfast_refusals WHERE device = ? ORDER BY first")
    findAckBeyond = try connection.statement("SELECT 1 FROM holdfast_acks WHERE device = ? LIMIT 1 OFFSET ?")
    dropAcks = try connection.statement("DELETE FROM holdfast_acks WHERE device = ? AND lost = 0")
    dropAck = try connection.statement("DELETE FROM holdfast_acks WHERE device = ? AND zone = ?")
    putAck = try connection.statement(
      """
      INSERT INTO holdfast_acks (device, zone, epoch, seq, purged, lost) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (device, zone) DO UPDATE
      SET epoch = excluded.epoch, seq = excluded.seq, purged = excluded.purged, lost = iif(excluded.epoch = '', 0, lost)
      """)
    dropToken = try connection.statement(
      """
      UPDATE holdfast_devices SET token_hash = iif(issued_after IS NULL, NULL, token_hash), ticket_hash = NULL,
        ended_session = max(ended_session, pass_session), pass_session = 0,
        issued_after = iif(issued_after IS NULL, NULL, ?1) WHERE number = ?2
      """)
    findOwned = try connection.statement(
      "SELECT number, id, token_hash IS NOT NULL FROM holdfast_devices WHERE user = ? ORDER BY number")
    findAck = try connection.statement(
      "SELECT 1 FROM holdfast_acks WHERE device = ? AND zone = ? AND seq >= ? AND lost = 0")
    addLoss = try connection.statement(
      """
      UPDATE holdfast_acks SET lost = 1 WHERE zone = ? AND device IN (SELECT number FROM holdfast_devices WHERE user = ?)
      """)
    countLoss = try connection.statement("UPDATE holdfast_accounts SET losses = losses + ? WHERE id = ?")
    findOwner = try connection.statement("SELECT id, user FROM holdfast_devices WHERE number = ?")
  }

  func row(_ number: Int64) throws -> DeviceRow? {
    try find.bind(number, at: 1)
    defer { find.reset() }
    guard try find.step() else { return nil }
    let state = DeviceState(
      id: find.text(0), user: find.text(1), confirmed: find.integer(2),
      chain: Fingerprint(value: UInt64(bitPattern: find.integer(3))), acknowledgedRefusals: find.integer(4),
      applied: AppliedChangeSets(bytes: find.blob(5)), clock: Stamp(rawValue: find.integer(9)),
      seenAt: find.integer(12), isSessionUsed: find.integer(10) == 1,
      issuedAfter: find.columnValue(6).integer, hasPurgedAcks: find.integer(7) == 1,
      isUnseenSinceRestore: find.integer(8) == 1)
    try findRefusals.bind(number, at: 1)
    defer { findRefusals.reset() }
    var refusals: [Int64] = []
    while try findRefusals.step() { refusals.append(findRefusals.integer(0)) }
    return DeviceRow(state, token: find.isNull(11) ? nil : find.blob(11), refusals: refusals)
  }

  // MARK: Writing

  /// Writes the changes of a transaction.
  func write(_ delta: Delta) throws {
    for device in delta.movedDevices { try advance(device) }
    for (device, last) in delta.purgedRefusals {
      try dropRefusals.bind(device, at: 1)
      try dropRefusals.bind(last, at: 2)
      try dropRefusals.run()
    }
    for refusal in delta.refusals { try add(refusal) }
    for number in delta.clearedAcks {
      try dropAcks.bind(number, at: 1)
      try dropAcks.run()
    }
    for ack in delta.acks { try set(ack) }
    for loss in delta.losses {
      try addLoss.bind(loss.zone, at: 1)
      try addLoss.bind(loss.user, at: 2)
      try addLoss.run()
    }
    for (user, sum) in delta.lossesByUser {
      try countLoss.bind(sum, at: 1)
      try countLoss.bind(user, at: 2)
      try countLoss.run()
    }
  }

  private func advance(_ device: MovedDevice) throws {
    let state = device.state
    try move.bind(state.confirmed, at: 1)
    try move.bind(Int64(bitPattern: state.chain.value), at: 2)
    try move.bind(state.clock.rawValue, at: 3)
    try move.bind(state.seenAt, at: 4)
    try move.bind(state.acknowledgedRefusals, at: 5)
    try move.bind(.blob(state.applied.bytes), at: 6)
    try move.bind(state.isSessionUsed ? 1 : 0, at: 7)
    try move.bind(state.isUnseenSinceRestore ? 1 : 0, at: 8)
    try move.bind(device.number, at: 9)
    try move.run()
  }

  private func add(_ refusal: NewRefusal) throws {
    try addRefusal.bind(refusal.device, at: 1)
    try addRefusal.bind(refusal.first, at: 2)
    try addRefusal.bind(refusal.last, at: 3)
    try addRefusal.bind(refusal.operation, at: 4)
    try addRefusal.bind(.blob(refusal.problem), at: 5)
    try addRefusal.run()
  }

  private func set(_ new: NewAck) throws {
    guard let ack = new.ack else {
      try dropAck.bind(new.key.device, at: 1)
      try dropAck.bind(new.key.zone, at: 2)
      return try dropAck.run()
    }
    try putAck.bind(new.key.device, at: 1)
    try putAck.bind(new.key.zone, at: 2)
    try putAck.bind(ack.epoch, at: 3)
    try putAck.bind(ack.seq, at: 4)
    try putAck.bind(ack.purged, at: 5)
    try putAck.bind(new.isDoubted ? 1 : 0, at: 6)
    try putAck.run()
  }

  // MARK: Reading

  func hasAcks(_ number: Int64, beyond limit: Int) throws -> Bool {
    try findAckBeyond.bind(number, at: 1)
    try findAckBeyond.bind(Int64(limit), at: 2)
    return try findAckBeyond.hasRow()
  }

  func ackedZones(of number: Int64, notOf epoch: String, limit: Int) throws -> [String] {
    try connection.rows(
      "SELECT zone FROM holdfast_acks WHERE device = ? AND epoch NOT IN ('', ?) AND lost = 0 LIMIT ?",
      [.integer(number), .text(epoch), .integer(Int64(limit))]
    ).compactMap { $0[0].text }
  }

  func hasLeftZones() throws -> Bool {
    try connection.value("SELECT 1 FROM holdfast_zones WHERE left_for IS NOT NULL LIMIT 1") != nil
  }

  func hasAck(of zone: String, by user: String, notOf epoch: String) throws -> Bool {
    try connection.value(
      """
      SELECT 1 FROM holdfast_devices d JOIN holdfast_acks a ON a.device = d.number AND a.zone = ?2
      WHERE d.user = ?1 AND a.epoch NOT IN ('', ?3) AND a.lost = 0 LIMIT 1
      """, [.text(user), .text(zone), .text(epoch)]) != nil
  }

  func setClient(_ client: ClientVersion, of number: Int64) throws {
    try connection.run(
      "UPDATE holdfast_devices SET app = ?, app_schema = ? WHERE number = ?",
      [.text(client.app), .text(client.schema), .integer(number)])
  }

  func remember(_ number: Int64) throws {
    try connection.run("UPDATE holdfast_devices SET acks_purged = 0 WHERE number = ?", [.integer(number)])
  }

  func revoke(_ number: Int64, at now: Int64) throws {
    try dropToken.bind(now, at: 1)
    try dropToken.bind(number, at: 2)
    try dropToken.run()
    try setPushToken(nil, of: number)
  }

  func setPushToken(_ token: PushToken?, of number: Int64) throws {
    guard let token else { return try SQLitePurge.dropPushToken(of: number, on: connection) }
    try removePushTokens([token.token])
    try connection.run(
      "INSERT OR REPLACE INTO holdfast_push_tokens (device, kind, token, token_hash) VALUES (?, ?, ?, ?)",
      [.integer(number), .text(token.kind), .text(token.token), .blob(PushToken.hash(of: token.token))])
  }

  func removePushTokens(_ tokens: [String]) throws {
    for token in tokens {
      try connection.run(
        "DELETE FROM holdfast_push_tokens WHERE token_hash = ?", [.blob(PushToken.hash(of: token))])
    }
  }

  func setTicket(_ ticket: TokenHash, until end: Int64, of number: Int64) throws {
    try connection.run(
      "UPDATE holdfast_devices SET ticket_hash = ?, ticket_until = ? WHERE number = ?",
      [.blob(ticket.withBytes { Array($0) }), .integer(end), .integer(number)])
  }

  func takeTicket(_ ticket: TokenHash, at now: Int64) throws -> TokenHash? {
    let token = try connection.value(
      """
      UPDATE holdfast_devices SET ticket_hash = NULL WHERE ticket_hash = ? AND ticket_until > ? RETURNING token_hash
      """, [.blob(ticket.withBytes { Array($0) }), .integer(now)])
    return token?.blob.flatMap { TokenHash(bytes: $0) }
  }

  func strip(_ numbers: [Int64]) throws {
    for number in numbers {
      try connection.run(
        """
        UPDATE holdfast_devices SET name = '', token_hash = NULL, ticket_hash = NULL, scope = NULL, issued_after = NULL,
          ended_session = max(ended_session, pass_session), pass_session = 0, app = NULL, app_schema = NULL WHERE number = ?
        """, [.integer(number)])
      try setPushToken(nil, of: number)
    }
  }

  func issuedAfter(of key: TokenHash) throws -> Int64? {
    try connection.value(
      "SELECT issued_after FROM holdfast_devices WHERE token_hash = ?", [.blob(key.withBytes { Array($0) })]
    )?.integer
  }

  func devices(of user: String) throws -> [OwnedDevice] {
    try findOwned.bind(user, at: 1)
    defer { findOwned.reset() }
    var found: [OwnedDevice] = []
    while try findOwned.step() {
      found.append(
        OwnedDevice(
          number: findOwned.integer(0), id: findOwned.text(1), hasToken: findOwned.integer(2) == 1))
    }
    return found
  }

  func number(of device: String, user: String) throws -> Int64? {
    try connection.value(
      "SELECT number FROM holdfast_devices WHERE id = ? AND user = ?", [.text(device), .text(user)])?.integer
  }

  func leastRecent(of user: String, whereAtLeast limit: Int) throws -> Int64? {
    try connection.value(
      """
      SELECT d.number FROM holdfast_devices d WHERE d.user = ? AND \(KnownDevice.hasSession)
      ORDER BY d.seen_at DESC, d.number DESC LIMIT 1 OFFSET ?
      """, [.text(user), .integer(Int64(max(1, limit) - 1))])?.integer
  }

  func owner(of number: Int64) throws -> (id: String, user: String)? {
    try findOwner.bind(number, at: 1)
    defer { findOwner.reset() }
    return try findOwner.step() ? (findOwner.text(0), findOwner.text(1)) : nil
  }

  func hasAcked(_ seq: Int64, of zone: String, device: Int64) throws -> Bool {
    try findAck.bind(device, at: 1)
    try findAck.bind(zone, at: 2)
    try findAck.bind(seq, at: 3)
    return try findAck.hasRow()
  }

  func add(_ device: NewDevice) throws {
    try connection.run(
      """
      INSERT INTO holdfast_devices (id, user, name, token_hash, clock, seen_at, session_at, scope, issued_after)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8)
      """,
      [
        .text(device.id), .text(device.user), .text(device.name), .blob(device.token.withBytes { Array($0) }),
        .integer(device.clock.rawValue), .integer(device.seenAt),
        device.scope.map { .text($0) } ?? .null, device.issuedAfter.map { .integer($0) } ?? .null,
      ])
  }

  func session(of device: String, user: String) throws -> LastSession? {
    let row = try connection.row(
      """
      SELECT d.session, d.session_used, d.applied FROM holdfast_devices d
      WHERE d.id = ? AND d.user = ? AND \(KnownDevice.takesSessions)
      """,
      [.text(device), .text(user)])
    guard let row, let number = row[0].integer else { return nil }
    return LastSession(
      number: number, isUsed: row[1].integer == 1, applied: AppliedChangeSets(bytes: row[2].blob ?? []))
  }

  func beginSession(_ number: Int64, of device: String, name: String, token: TokenHash, at now: Int64) throws
  {
    try connection.run(
      """
      UPDATE holdfast_devices SET token_hash = ?1, ticket_hash = NULL, name = ?2, seen_at = ?3, session_at = ?3, session = ?4,
        ended_session = max(ended_session, pass_session), pass_session = 0, session_used = 0 WHERE id = ?5
      """,
      [
        .blob(token.withBytes { Array($0) }), .text(name), .integer(now), .integer(number),
        .text(device),
      ])
  }
}
