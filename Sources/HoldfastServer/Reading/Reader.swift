import HoldfastCore
import HoldfastSQLite

/// What a reader knows of the device that asks.
struct KnownDevice: Sendable {
  let key: DeviceKey
  let user: String
  let confirmed: Int64
  let chain: Fingerprint
  /// When it last wrote, in milliseconds since 1970.
  let seenAt: Int64
  /// The greatest number up to which it has said to have dealt with the answers.
  let answered: Int64
}

/// Reads for one request at a time, over a connection that can't write.
final class Reader {
  let connection: Connection
  let epoch: String
  let feed: ChangeFeed
  /// The size of an answer from which on no further change is begun.
  let answerSize: Int
  private let begin: Statement
  private let end: Statement
  private let findDevice: Statement
  private let findRefusal: Statement
  private let findAccount: Statement
  let findZones: Statement
  let findRefusals: Statement

  init(_ database: ServerDatabase, answerSize: Int) throws {
    self.answerSize = answerSize
    connection = try database.reader()
    epoch = database.epoch
    feed = try ChangeFeed(database.schema, on: connection)
    begin = try connection.statement("BEGIN")
    end = try connection.statement("COMMIT")
    findDevice = try connection.statement(
      "SELECT number, user, confirmed, chain, seen_at, answered FROM holdfast_devices WHERE token_hash = ?")
    findRefusal = try connection.statement("SELECT 1 FROM holdfast_refusals WHERE device = ? AND last <= ?")
    findAccount = try connection.statement("SELECT id, password FROM holdfast_accounts WHERE name = ?")
    findZones = try connection.statement(
      """
      SELECT a.zone, a.epoch, a.seq, z.seq, z.purged, coalesce(m.role, CASE z.public WHEN 1 THEN 'viewer' END), a.lost
      FROM holdfast_acks a LEFT JOIN holdfast_zones z ON z.zone = a.zone
      LEFT JOIN members m ON m.zone = a.zone AND m.user = ?2 WHERE a.device = ?1
      UNION ALL
      SELECT m.zone, '', 0, z.seq, z.purged, m.role, 0
      FROM members m JOIN holdfast_zones z ON z.zone = m.zone WHERE m.user = ?2
      AND NOT EXISTS (SELECT 1 FROM holdfast_acks a WHERE a.device = ?1 AND a.zone = m.zone)
      """)
    findRefusals = try connection.statement(
      "SELECT first, last, operation, problem FROM holdfast_refusals WHERE device = ? ORDER BY first")
  }

  /// Runs `body` in one read transaction: all it sees is of one moment.
  func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    try begin.run()
    defer { try? end.run() }
    return try body()
  }

  /// The device of a token, or nil.
  func device(_ token: TokenHash) throws -> KnownDevice? {
    try token.withBytes { (bytes: UnsafeRawBufferPointer) in try findDevice.bind(blob: bytes, at: 1) }
    defer { findDevice.reset() }
    guard try findDevice.step() else { return nil }
    return KnownDevice(
      key: DeviceKey(number: findDevice.integer(0), token: token), user: findDevice.text(1),
      confirmed: findDevice.integer(2), chain: Fingerprint(value: UInt64(bitPattern: findDevice.integer(3))),
      seenAt: findDevice.integer(4), answered: findDevice.integer(5))
  }

  /// The account of a name with its stored password, or nil.
  func account(_ name: String) throws -> (id: String, password: String)? {
    try findAccount.bind(name, at: 1)
    defer { findAccount.reset() }
    return try findAccount.step() ? (findAccount.text(0), findAccount.text(1)) : nil
  }

  /// Whether refusals are stored that the device says it has dealt with.
  func hasRefusals(_ device: Int64, upTo answers: Int64) throws -> Bool {
    if answers <= 0 { return false }
    try findRefusal.bind(device, at: 1)
    try findRefusal.bind(answers, at: 2)
    return try findRefusal.hasRow()
  }
}
