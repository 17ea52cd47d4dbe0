import HoldfastCore
import HoldfastSQLite

/// What the writer knows of a device.
struct DeviceState {
  let id: String
  let user: String
  let confirmed: Int64
  let chain: Fingerprint
  /// The greatest number up to which the device has said to have dealt with the answers.
  let answered: Int64
}

/// The statements of devices, their acks and their refusals, prepared once.
final class Devices {
  private let find: Statement
  private let move: Statement
  private let dropRefusals: Statement
  private let addRefusal: Statement
  private let countRefusals: Statement
  private let findAckBeyond: Statement
  private let dropAcks: Statement
  private let dropAck: Statement
  private let putAck: Statement
  private let dropToken: Statement

  init(on connection: Connection) throws {
    find = try connection.statement(
      "SELECT id, user, confirmed, chain, answered FROM holdfast_devices WHERE number = ? AND token_hash = ?")
    move = try connection.statement(

      """
      UPDATE holdfast_devices SET confirmed = ?, chain = ?, clock = ?, seen_at = ?, answered = max(answered, ?)
      WHERE number = ?
      """)
    dropRefusals = try connection.statement("DELETE FROM holdfast_refusals WHERE device = ? AND last <= ?")
    addRefusal = try connection.statement(
      "INSERT INTO holdfast_refusals (device, first, last, operation, problem) VALUES (?, ?, ?, ?, ?)")
    countRefusals = try connection.statement(
      "SELECT count(*) FROM holdfast_refusals WHERE device = ? AND last > ?")
    findAckBeyond = try connection.statement("SELECT 1 FROM holdfast_acks WHERE device = ? LIMIT 1 OFFSET ?")
    dropAcks = try connection.statement("DELETE FROM holdfast_acks WHERE device = ? AND lost = 0")
    dropAck = try connection.statement("DELETE FROM holdfast_acks WHERE device = ? AND zone = ?")
    // A zone that was lost in between must be begun anew, or given up.
    putAck = try connection.statement(
      """
      INSERT INTO holdfast_acks (device, zone, epoch, seq) VALUES (?, ?, ?, ?) ON CONFLICT (device, zone)
      DO UPDATE SET epoch = excluded.epoch, seq = excluded.seq, lost = 0 WHERE lost = 0 OR excluded.epoch = ''
      """)
    dropToken = try connection.statement("UPDATE holdfast_devices SET token_hash = NULL WHERE number = ?")
  }

  /// The device of a key whose token is still valid, or nil.
  func device(_ key: DeviceKey) throws -> DeviceState? {
    try find.bind(key.number, at: 1)
    try key.token.withBytes { (bytes: UnsafeRawBufferPointer) in try find.bind(blob: bytes, at: 2) }
    defer { find.reset() }
    guard try find.step() else { return nil }
    return DeviceState(
      id: find.text(0), user: find.text(1), confirmed: find.integer(2),
      chain: Fingerprint(value: UInt64(bitPattern: find.integer(3))), answered: find.integer(4))
  }

  /// Writes how far the device's operations were dealt with, and up to where it has dealt with the answers.
  func advance(_ number: Int64, confirmed: Int64, chain: Fingerprint, answered: Int64, clock: Stamp) throws {
    try move.bind(confirmed, at: 1)
    try move.bind(Int64(bitPattern: chain.value), at: 2)
    try move.bind(clock.rawValue, at: 3)
    try move.bind(clock.milliseconds, at: 4)
    try move.bind(answered, at: 5)
    try move.bind(number, at: 6)
    try move.run()
  }

  /// Forgets the refusals that the device has dealt with.
  func forgetRefusals(_ number: Int64, upTo last: Int64) throws {
    try dropRefusals.bind(number, at: 1)
    try dropRefusals.bind(last, at: 2)
    try dropRefusals.run()
  }

  /// How many refusals will be left when the device has dealt with those up to `last`.
  func refusals(_ number: Int64, after last: Int64) throws -> Int {
    try countRefusals.bind(number, at: 1)
    try countRefusals.bind(last, at: 2)
    defer { countRefusals.reset() }
    return try countRefusals.step() ? Int(countRefusals.integer(0)) : 0
  }

  /// Remembers why a change set was refused, until the device acks it.
  func addRefusal(_ number: Int64, first: Int64, count: Int, _ refused: RefusedOperation) throws {
    try addRefusal.bind(number, at: 1)
    try addRefusal.bind(first, at: 2)
    try addRefusal.bind(first + Int64(count) - 1, at: 3)
    try addRefusal.bind(first + Int64(min(refused.index, count - 1)), at: 4)
    try addRefusal.bind(.blob(refused.problem.document), at: 5)
    try addRefusal.run()
  }

  /// Whether a device has more acks than `limit`.
  func hasAcks(_ number: Int64, beyond limit: Int) throws -> Bool {
    try findAckBeyond.bind(number, at: 1)
    try findAckBeyond.bind(Int64(limit), at: 2)
    return try findAckBeyond.hasRow()
  }

  /// Forgets all acks of a device.
  func forgetAcks(_ number: Int64) throws {
    try dropAcks.bind(number, at: 1)
    try dropAcks.run()
  }

  /// Stores an ack; nil says that the zone is gone from the device.
  func setAck(_ number: Int64, zone: String, _ ack: SyncCommand.Ack?) throws {
    guard let ack else {
      try dropAck.bind(number, at: 1)
      try dropAck.bind(zone, at: 2)
      return try dropAck.run()
    }
    try putAck.bind(number, at: 1)
    try putAck.bind(zone, at: 2)
    try putAck.bind(ack.epoch, at: 3)
    try putAck.bind(ack.seq, at: 4)
    try putAck.run()
  }

  /// Makes the device's token invalid.
  func forgetToken(_ number: Int64) throws {
    try dropToken.bind(number, at: 1)
    try dropToken.run()
  }
}
