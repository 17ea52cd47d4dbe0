public import HoldfastCore
import HoldfastService

extension Administration {
  /// Lists the service tokens. Their secrets are not stored.
  public func tokens() throws -> Listing {
    Listing(
      columns: ["token", "name", "role", "tables", "zones", "last used", "valid"],
      rows: try operators.tokens().map { row in
        guard let scope = TokenScope(row[2]) else { return [row[0], row[1], "?", "?", "?", row[3], row[4]] }
        func text(_ names: TextSet?) -> String {
          names.map { $0.sorted().joined(separator: ",") } ?? "all"
        }
        return [row[0], row[1], scope.role.rawValue, text(scope.tables), text(scope.zones), row[3], row[4]]
      })
  }

  /// Creates a service token with a user of its own: docs/IDENTITY.md, section 6.
  ///
  /// - Parameters:
  ///   - name: the name of its user; valid as an account name, and not taken.
  ///   - role: the role of the token.
  ///   - tables: the tables that it may read and write; nil for all.
  ///   - zones: the zones that it may read and write; nil for all.
  /// - Returns: the token, which is not stored.
  /// - Throws: `ServerError.refused` for a name that is invalid or taken, `notFound` for an unknown table.
  public func createToken(name: String, role: Role, tables: [String]?, zones: [String]?) throws -> String {
    do { try Credentials.checkNewName(name) } catch { throw ServerError(.refused, error.detail) }
    for table in tables ?? [] where schema.index(of: table) == nil {
      throw ServerError(.notFound, "The schema has no table \(table).")
    }
    for names in [tables, zones].compactMap(\.self) where !(1...TokenScope.nameLimit).contains(names.count) {
      throw ServerError(.refused, "A token names 1 to \(TokenScope.nameLimit) tables, and as many zones.")
    }
    let scope = TokenScope(role: role, tables: tables.map { TextSet($0) }, zones: zones.map { TextSet($0) })
    let token = makeToken(random: environment.random)
    try change(.token) { work, now, audited in
      let accounts = work.store.accounts
      if try accounts.id(ofName: name) != nil {
        throw ServerError(.refused, "The name \(name) is taken: choose another.")
      }
      let user = work.stores.newID(at: now)
      audited = Audited(target: user, detail: role.rawValue)
      try accounts.add(user, name: name, password: "", at: now)
      try work.store.devices.add(
        NewDevice(
          id: work.stores.newID(at: now), user: user, name: name, token: TokenHash(of: token), clock: now,
          seenAt: work.clock.trusted.written(), scope: scope.text))
    }
    return token
  }

  /// Revokes the token of a device, or a service token.
  ///
  /// - Parameter id: the id of the device or of the token.
  /// - Throws: `ServerError.notFound`.
  public func revoke(device id: String) throws {
    guard let user = try operators.user(ofDevice: id) else {
      throw ServerError(
        .notFound, "There is no device \(id). `holdfast devices` and `holdfast tokens` list them.")
    }
    try change(.revoke) { work, _, audited in
      audited.target = id
      for device in try work.store.devices.devices(of: user) where device.id == id {
        try Accounts(work).revoke(device.number)
      }
    }
  }

  /// Gives a user another password, and ends all sessions of the user.
  ///
  /// - Parameters:
  ///   - password: 8 to 1,024 bytes.
  ///   - name: the name of the user.
  /// - Throws: `ServerError`: `notFound`; `refused` for a password that is none, and for users who sign in otherwise.
  public func setPassword(_ password: String, ofUser name: String) throws {
    do { try Credentials.checkNewPassword(password) } catch { throw ServerError(.refused, error.detail) }
    guard let hash = environment.passwords.hash(password) else {
      throw ServerError(.unreachable, "There is not enough memory to hash a password.")
    }
    try change(.password) { work, _, audited in
      let accounts = work.store.accounts
      guard let user = try accounts.id(ofName: name) else {
        throw ServerError(.notFound, "There is no user \(name). `holdfast users` lists them.")
      }
      if try accounts.account(user)?.password.isEmpty ?? true {
        throw ServerError(.refused, "\(name) has no password: it is a program, or of an identity provider.")
      }
      audited.target = user
      try accounts.setPassword(hash, of: user)
      try Accounts(work).revokeOthers(of: user, but: nil)
    }
  }
}
