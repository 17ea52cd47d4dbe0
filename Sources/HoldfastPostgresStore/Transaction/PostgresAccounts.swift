import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// The accounts in PostgreSQL.
final class PostgresAccounts: AccountTable {
  private unowned let store: PostgresStore
  /// The names of accounts by id, as far as the transaction has read them.
  private var names: TextMap<String> = [:]

  // The look-ups lock the account's row, so that the account cannot be erased before the transaction ends.
  private static let findID: PostgresStatement =
    "SELECT id FROM holdfast.accounts WHERE name = $1 FOR KEY SHARE"
  private static let findAccount: PostgresStatement =
    "SELECT name, password FROM holdfast.accounts WHERE id = $1 AND erasure = 0 FOR KEY SHARE"
  private static let findKnown: PostgresStatement = "SELECT id FROM holdfast.accounts WHERE id = $1"
  private static let beginErasure: PostgresStatement =
    "UPDATE holdfast.accounts SET name = $2, password = '', erasure = $3, erasure_untold = true WHERE id = $1"
  private static let dropIdentities: PostgresStatement = "DELETE FROM holdfast.identities WHERE account = $1"
  private static let changeName: PostgresStatement = "UPDATE holdfast.accounts SET name = $2 WHERE id = $1"
  private static let changePassword: PostgresStatement =
    "UPDATE holdfast.accounts SET password = $2 WHERE id = $1"
  static let findIdentity: PostgresStatement =
    "SELECT account FROM holdfast.identities WHERE issuer = $1 AND subject = $2"
  private static let insertIdentity: PostgresStatement =
    "INSERT INTO holdfast.identities (issuer, subject, account) VALUES ($1, $2, $3)"
  private static let insert: PostgresStatement =
    "INSERT INTO holdfast.accounts (id, name, password, created_at) VALUES ($1, $2, $3, $4)"

  init(_ store: PostgresStore) { self.store = store }

  /// Resets the cache for a new transaction.
  func begin() { names.removeAll(keepingCapacity: true) }

  /// Adds ids with their names.
  func learn(names rows: PostgresRows) {
    for row in rows.indices { names[rows.text(row, 0)] = rows.text(row, 1) }
  }

  func id(ofName name: String) throws -> String? {
    let rows = try store.reading.query(Self.findID, PostgresParameters(name))
    return rows.isEmpty ? nil : rows.text(0, 0)
  }

  func account(_ id: String) throws -> (name: String, password: String)? {
    let rows = try store.reading.query(Self.findAccount, PostgresParameters(id))
    return rows.isEmpty ? nil : (rows.text(0, 0), rows.text(0, 1))
  }

  func name(ofID id: String) throws -> String? {
    if let known = names[id] { return known }
    let name = try account(id)?.name
    names[id] = name
    return name
  }

  func isKnown(_ id: String) throws -> Bool {
    try !store.reading.query(Self.findKnown, PostgresParameters(id)).isEmpty
  }

  func add(_ id: String, name: String, password: String, at now: Stamp) throws {
    try store.connection.run(Self.insert, PostgresParameters(id, name, password, now.milliseconds))
    names[id] = name
  }

  func setName(_ name: String, of id: String) throws {
    try store.connection.run(Self.changeName, PostgresParameters(id, name))
    names[id] = name
  }

  func setPassword(_ password: String, of id: String) throws {
    try store.connection.run(Self.changePassword, PostgresParameters(id, password))
  }

  func user(of identity: Identity) throws -> String? {
    let rows = try store.connection.query(
      Self.findIdentity, PostgresParameters(identity.issuer, identity.subject))
    return rows.isEmpty ? nil : rows.text(0, 0)
  }

  func add(_ identity: Identity, of user: String) throws {
    try store.connection.run(
      Self.insertIdentity, PostgresParameters(identity.issuer, identity.subject, user))
  }

  func beginErasure(of id: String) throws {
    names[id] = nil
    try store.connection.run(
      Self.beginErasure, PostgresParameters(id, Erasure.name(of: id), Erasure.begun.rawValue))
    try store.connection.run(Self.dropIdentities, PostgresParameters(id))
  }
}
