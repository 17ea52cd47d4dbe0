import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// The accounts in SQLite.
final class SQLiteAccounts: AccountTable {
  private let connection: SQLiteConnection
  private let findID: Statement
  private let findName: Statement

  init(on connection: SQLiteConnection) throws {
    self.connection = connection
    findID = try connection.statement("SELECT id FROM holdfast_accounts WHERE name = ?")
    findName = try connection.statement("SELECT name FROM holdfast_accounts WHERE id = ? AND erasure = 0")
  }

  func id(ofName name: String) throws -> String? {
    try findID.bind(name, at: 1)
    return try findID.firstText()
  }

  func name(ofID id: String) throws -> String? {
    try findName.bind(id, at: 1)
    return try findName.firstText()
  }

  func account(_ id: String) throws -> (name: String, password: String)? {
    let row = try connection.row(
      "SELECT name, password FROM holdfast_accounts WHERE id = ? AND erasure = 0", [.text(id)])
    guard let row, let name = row[0].text, let password = row[1].text else { return nil }
    return (name, password)
  }

  func isKnown(_ id: String) throws -> Bool {
    try connection.value("SELECT 1 FROM holdfast_accounts WHERE id = ?", [.text(id)]) != nil
  }

  func add(_ id: String, name: String, password: String, at now: Stamp) throws {
    try connection.run(
      "INSERT INTO holdfast_accounts (id, name, password, created_at) VALUES (?, ?, ?, ?)",
      [.text(id), .text(name), .text(password), .integer(now.milliseconds)])
  }

  func setName(_ name: String, of id: String) throws {
    try connection.run("UPDATE holdfast_accounts SET name = ? WHERE id = ?", [.text(name), .text(id)])
  }

  func setPassword(_ password: String, of id: String) throws {
    try connection.run(
      "UPDATE holdfast_accounts SET password = ? WHERE id = ?", [.text(password), .text(id)])
  }

  static let findIdentity = "SELECT user FROM holdfast_identities WHERE issuer = ? AND subject = ?"

  func user(of identity: Identity) throws -> String? {
    try connection.value(Self.findIdentity, [.text(identity.issuer), .text(identity.subject)])?.text
  }

  func add(_ identity: Identity, of user: String) throws {
    try connection.run(
      "INSERT INTO holdfast_identities (issuer, subject, user) VALUES (?, ?, ?)",
      [.text(identity.issuer), .text(identity.subject), .text(user)])
  }

  func beginErasure(of id: String) throws {
    try connection.run(
      "UPDATE holdfast_accounts SET name = ?, password = '', erasure = ?, erasure_untold = 1 WHERE id = ?",
      [.text(Erasure.name(of: id)), .integer(Erasure.begun.rawValue), .text(id)])
    try connection.run("DELETE FROM holdfast_identities WHERE user = ?", [.text(id)])
  }
}
