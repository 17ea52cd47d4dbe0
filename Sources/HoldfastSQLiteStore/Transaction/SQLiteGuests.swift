import HoldfastSQLite
import HoldfastService

/// The guests in SQLite.
final class SQLiteGuests: GuestTable {
  private let connection: SQLiteConnection

  init(on connection: SQLiteConnection) { self.connection = connection }

  func home(of user: String) throws -> String? { try Self.home(of: user, on: connection) }

  static func home(of user: String, on connection: SQLiteConnection) throws -> String? {
    try connection.value("SELECT home FROM holdfast_guests WHERE user = ?", [.text(user)])?.text
  }

  func add(_ user: String, home: String) throws {
    try connection.run(
      "INSERT INTO holdfast_guests (user, home) VALUES (?, ?)", [.text(user), .text(home)])
  }

  func setSession(_ session: GuestSession, of device: Int64) throws {
    try connection.run(
      "INSERT OR REPLACE INTO holdfast_guest_sessions (device, home_device, ends_at) VALUES (?, ?, ?)",
      [.integer(device), .text(session.homeDevice), .integer(session.endsAt)])
  }

  func session(of device: Int64) throws -> GuestSession? {
    let row = try connection.row(
      "SELECT home_device, ends_at FROM holdfast_guest_sessions WHERE device = ?", [.integer(device)])
    return row.map { GuestSession(homeDevice: $0[0].text ?? "", endsAt: $0[1].integer ?? 0) }
  }

  func devices(dependingOn homeDevice: String) throws -> [Int64] {
    try connection.rows(
      "SELECT device FROM holdfast_guest_sessions WHERE home_device = ? ORDER BY device", [.text(homeDevice)]
    ).compactMap { $0[0].integer }
  }

  func dropSession(of device: Int64) throws {
    try connection.run("DELETE FROM holdfast_guest_sessions WHERE device = ?", [.integer(device)])
  }

  func notePass(of device: Int64) throws {
    try connection.run(
      "UPDATE holdfast_devices SET pass_session = session WHERE number = ?", [.integer(device)])
  }

  func setTold(_ ended: [EndedSession], erased: [String]) throws {
    for end in ended {
      try connection.run(
        "UPDATE holdfast_devices SET ended_session = 0 WHERE id = ? AND ended_session = ?",
        [.text(end.device), .integer(end.session)])
    }
    for user in erased {
      try connection.run("UPDATE holdfast_accounts SET erasure_untold = 0 WHERE id = ?", [.text(user)])
    }
  }

  func databaseName() throws -> String? { try Self.databaseName(on: connection) }

  static func databaseName(on connection: SQLiteConnection) throws -> String? {
    try connection.value("SELECT value FROM holdfast_meta WHERE key = 'database'")?.text
  }

  func setDatabaseName(_ name: String) throws {
    try connection.run(
      "INSERT OR REPLACE INTO holdfast_meta (key, value) VALUES ('database', ?)", [.text(name)])
  }
}

extension SQLiteReader {
  func home(ofGuest user: String) throws -> String? { try SQLiteGuests.home(of: user, on: connection) }

  func hasAccount(_ user: String) throws -> Bool {
    try connection.value("SELECT 1 FROM holdfast_accounts WHERE id = ?", [.text(user)]) != nil
  }

  func databaseName() throws -> String? { try SQLiteGuests.databaseName(on: connection) }

  func directoryWork(at now: Int64, limit: Int) throws -> DirectoryWork {
    var work = DirectoryWork()
    work.ended = try connection.rows(
      "SELECT id, user, ended_session FROM holdfast_devices WHERE ended_session > 0 LIMIT ?",
      [.integer(Int64(limit))]
    ).map { EndedSession(device: $0[0].text ?? "", user: $0[1].text ?? "", session: $0[2].integer ?? 0) }
    // The erasure of a guest is told by the home.
    work.erased = try connection.rows(
      """
      SELECT a.id FROM holdfast_accounts a WHERE a.erasure_untold = 1
      AND NOT EXISTS (SELECT 1 FROM holdfast_guests g WHERE g.user = a.id) LIMIT ?
      """, [.integer(Int64(limit))]
    ).compactMap { $0[0].text }
    work.expired = try connection.rows(
      "SELECT device FROM holdfast_guest_sessions WHERE ends_at <= ? LIMIT ?",
      [.integer(now), .integer(Int64(limit))]
    ).compactMap { $0[0].integer }
    return work
  }

  func user(of identity: Identity) throws -> String? {
    try connection.value(
      SQLiteAccounts.findIdentity, [.text(identity.issuer), .text(identity.subject)])?.text
  }

  func accounts(_ kind: AccountKind, after id: String, limit: Int) throws -> [Resident] {
    try connection.rows(
      """
      SELECT a.id, a.name, i.issuer, i.subject FROM holdfast_accounts a LEFT JOIN holdfast_identities i ON i.user = a.id
      WHERE a.id > ? AND (a.erasure > 0) = ?
      AND EXISTS (SELECT 1 FROM holdfast_guests g WHERE g.user = a.id) = ? ORDER BY a.id LIMIT ?
      """,
      [
        .text(id), .integer(kind == .erased ? 1 : 0), .integer(kind == .guests ? 1 : 0),
        .integer(Int64(limit)),
      ]
    ).map { row in
      let identity = row[2].text.flatMap { issuer in
        row[3].text.map { Identity(issuer: issuer, subject: $0) }
      }
      return Resident(id: row[0].text ?? "", name: row[1].text ?? "", identity: identity)
    }
  }
}
