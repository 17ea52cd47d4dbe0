import HoldfastPostgres
import HoldfastService

/// The guests in PostgreSQL.
final class PostgresGuests: GuestTable {
  private unowned let store: PostgresStore

  fileprivate static let findHome: PostgresStatement = "SELECT home FROM holdfast.guests WHERE account = $1"
  private static let add: PostgresStatement = "INSERT INTO holdfast.guests (account, home) VALUES ($1, $2)"
  private static let putSession: PostgresStatement = """
    INSERT INTO holdfast.guest_sessions (device, home_device, ends_at) VALUES ($1, $2, $3)
    ON CONFLICT (device) DO UPDATE SET home_device = excluded.home_device, ends_at = excluded.ends_at
    """
  private static let findSession: PostgresStatement =
    "SELECT home_device, ends_at FROM holdfast.guest_sessions WHERE device = $1"
  private static let findDevices: PostgresStatement =
    "SELECT device FROM holdfast.guest_sessions WHERE home_device = $1 ORDER BY device"
  private static let dropSession: PostgresStatement = "DELETE FROM holdfast.guest_sessions WHERE device = $1"
  private static let notePass: PostgresStatement =
    "UPDATE holdfast.devices SET pass_session = session WHERE number = $1"
  private static let tellEnd: PostgresStatement =
    "UPDATE holdfast.devices SET ended_session = 0 WHERE id = $1 AND ended_session = $2"
  private static let tellErasures: PostgresStatement =
    "UPDATE holdfast.accounts SET erasure_untold = false WHERE id = ANY ($1)"
  private static let putName: PostgresStatement = """
    INSERT INTO holdfast.meta (key, value) VALUES ('database', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value
    """
  fileprivate static let findAccount: PostgresStatement = "SELECT id FROM holdfast.accounts WHERE id = $1"
  fileprivate static let findName: PostgresStatement =
    "SELECT value FROM holdfast.meta WHERE key = 'database'"
  fileprivate static let findEnded: PostgresStatement =
    "SELECT id, account, ended_session FROM holdfast.devices WHERE ended_session > 0 LIMIT $1"
  fileprivate static let findErased: PostgresStatement = """
    SELECT a.id FROM holdfast.accounts a WHERE a.erasure_untold
    AND NOT EXISTS (SELECT FROM holdfast.guests g WHERE g.account = a.id) LIMIT $1
    """
  fileprivate static let findExpired: PostgresStatement =
    "SELECT device FROM holdfast.guest_sessions WHERE ends_at <= $1 LIMIT $2"
  fileprivate static let findAccounts: PostgresStatement = """
    SELECT a.id, a.name, i.issuer, i.subject FROM holdfast.accounts a LEFT JOIN holdfast.identities i ON i.account = a.id
    WHERE a.id > $1 AND (a.erasure > 0) = $2
    AND EXISTS (SELECT FROM holdfast.guests g WHERE g.account = a.id) = $3 ORDER BY a.id LIMIT $4
    """

  init(_ store: PostgresStore) { self.store = store }

  func home(of user: String) throws -> String? {
    let rows = try store.reading.query(Self.findHome, PostgresParameters(user))
    return rows.isEmpty ? nil : rows.text(0, 0)
  }

  func add(_ user: String, home: String) throws {
    try store.connection.run(Self.add, PostgresParameters(user, home))
  }

  func setSession(_ session: GuestSession, of device: Int64) throws {
    try store.connection.run(
      Self.putSession, PostgresParameters(device, session.homeDevice, session.endsAt))
  }

  func session(of device: Int64) throws -> GuestSession? {
    let rows = try store.connection.query(Self.findSession, PostgresParameters(device))
    return rows.isEmpty ? nil : GuestSession(homeDevice: rows.text(0, 0), endsAt: rows.int64(0, 1))
  }

  func devices(dependingOn homeDevice: String) throws -> [Int64] {
    let rows = try store.connection.query(Self.findDevices, PostgresParameters(homeDevice))
    return rows.indices.map { rows.int64($0, 0) }
  }

  func dropSession(of device: Int64) throws {
    try store.connection.run(Self.dropSession, PostgresParameters(device))
  }

  func notePass(of device: Int64) throws {
    try store.connection.run(Self.notePass, PostgresParameters(device))
  }

  func setTold(_ ended: [EndedSession], erased: [String]) throws {
    for end in ended {
      try store.connection.run(Self.tellEnd, PostgresParameters(end.device, end.session))
    }
    if !erased.isEmpty { try store.connection.run(Self.tellErasures, PostgresParameters(array: erased)) }
  }

  func databaseName() throws -> String? { try Self.databaseName(on: store.connection) }

  fileprivate static func databaseName(on connection: PostgresConnection) throws -> String? {
    let rows = try connection.query(findName)
    return rows.isEmpty ? nil : rows.text(0, 0)
  }

  func setDatabaseName(_ name: String) throws {
    try store.connection.run(Self.putName, PostgresParameters(name))
  }
}

extension PostgresReader {
  func home(ofGuest user: String) throws -> String? {
    let rows = try connection.query(PostgresGuests.findHome, PostgresParameters(user))
    return rows.isEmpty ? nil : rows.text(0, 0)
  }

  func hasAccount(_ user: String) throws -> Bool {
    try !connection.query(PostgresGuests.findAccount, PostgresParameters(user)).isEmpty
  }

  func databaseName() throws -> String? {
    try PostgresGuests.databaseName(on: connection)
  }

  func directoryWork(at now: Int64, limit: Int) throws -> DirectoryWork {
    let most = Int64(limit)
    var work = DirectoryWork()
    let ended = try connection.query(PostgresGuests.findEnded, PostgresParameters(most))
    work.ended = ended.indices.map {
      EndedSession(device: ended.text($0, 0), user: ended.text($0, 1), session: ended.int64($0, 2))
    }
    // The erasure of a guest is told by the home.
    work.erased = try connection.query(PostgresGuests.findErased, PostgresParameters(most)).texts
    let expired = try connection.query(PostgresGuests.findExpired, PostgresParameters(now, most))
    work.expired = expired.indices.map { expired.int64($0, 0) }
    return work
  }

  func user(of identity: Identity) throws -> String? {
    let rows = try connection.query(
      PostgresAccounts.findIdentity, PostgresParameters(identity.issuer, identity.subject))
    return rows.isEmpty ? nil : rows.text(0, 0)
  }

  func accounts(_ kind: AccountKind, after id: String, limit: Int) throws -> [Resident] {
    let rows = try connection.query(
      PostgresGuests.findAccounts,
      PostgresParameters(id, kind == .erased, kind == .guests, Int64(limit)))
    return rows.indices.map { row in
      let identity = rows.optionalText(row, 2).map { Identity(issuer: $0, subject: rows.text(row, 3)) }
      return Resident(id: rows.text(row, 0), name: rows.text(row, 1), identity: identity)
    }
  }
}
