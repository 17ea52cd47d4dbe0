public import HoldfastCore
import HoldfastService

/// The devices that an operator selects.
public enum DeviceSelection: Sendable, Equatable {
  /// The device with an id.
  case device(String)
  /// The devices of the user with a name.
  case user(String)
  case all
}

extension Administration {
  /// The number of devices that one transaction resets.
  private static let resetSize = 500

  /// Lists all devices, with the zones and changes that each still lacks.
  public func devices() throws -> Listing {
    let lags = TextMap(
      try database.read { try $0.lag(of: nil) }.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    let rows = try operators.devices().map { row in
      let lag = lags[row[0]]
      let client = lag?.client
      return row + [
        client?.app ?? "", client?.schema ?? "", String(lag?.zones ?? 0), String(lag?.behind ?? 0),
        String(lag?.changes ?? 0),
      ]
    }
    return Listing(
      columns: [
        "device", "user", "name", "signed in", "operations", "last seen", "app", "schema", "zones", "behind",
        "changes",
      ], rows: rows)
  }

  /// Has devices resync their zones, with their edits kept, at their next sync: docs/RETENTION.md, section 4.
  ///
  /// - Parameters:
  ///   - selection: which devices.
  ///   - zone: the only zone concerned; nil for all.
  /// - Returns: how many zones of devices that are. One of which a device has nothing needs no reset.
  /// - Throws: `ServerError.notFound` when there is no such device, user or zone.
  @discardableResult
  public func reset(_ selection: DeviceSelection, zone: String?) throws -> Int {
    var user: String?
    if case .user(let name) = selection {
      user = try operators.store.accounts.id(ofName: name)
      if user == nil {
        throw ServerError(.notFound, "There is no user \(name). `holdfast users` lists them.")
      }
    }
    try requireZones(zone.map { [$0] } ?? [])
    let devices = try database.read { try $0.lag(of: user) }.map(\.id)
    let chosen: [String]
    if case .device(let id) = selection {
      chosen = devices.filter { $0 == id }
      if chosen.isEmpty {
        throw ServerError(.notFound, "There is no device \(id). `holdfast devices` lists them.")
      }
    } else {
      chosen = devices
    }
    // Writers run between the parts.
    return try stride(from: 0, to: chosen.count, by: Self.resetSize).reduce(0) { sum, first in
      try change(.reset) { _, _, audited in
        let part = chosen[first..<min(first + Self.resetSize, chosen.count)]
        let count = try part.reduce(0) { try $0 + operators.reset($1, zone: zone) }
        let target = chosen.count == 1 ? chosen[0] : user ?? "all devices"
        let scope = zone.map { "zone \($0)" } ?? "all zones"
        audited = Audited(target: target, detail: "\(scope); \(count) to fetch again")
        return sum + count
      }
    }
  }
}

extension Administration {
  /// A zone that is not there is a mistyped one: a command would seem to have done what it has not.
  ///
  /// - Throws: `ServerError.notFound`.
  private func requireZones(_ zones: [String]) throws {
    for zone in zones where try database.read({ try $0.zone(zone, for: nil) }) == nil {
      throw ServerError(.notFound, "There is no zone \(zone). `holdfast zones` lists them.")
    }
  }
}

/// The format of an export.
public enum AccountFormat: String, Sendable {
  /// JSON Lines, in one file.
  case jsonl
  /// Comma-separated values, one file per table.
  case csv
}

extension Administration {
  /// The size in bytes from which buffered output is written.
  private static let portion = 1 << 20

  /// Takes out all that a user may read but what is public, as of one moment: docs/EXPORT-AND-ERASURE.md.
  ///
  /// - Parameters:
  ///   - name: the user's.
  ///   - format: the form of the files.
  ///   - write: is given the name of a file, and bytes to be written to its end.
  /// - Returns: how many records there were.
  /// - Throws: `ServerError.notFound` when there is no such user.
  public func export(
    _ name: String, as format: AccountFormat, _ write: (_ file: String, _ bytes: [UInt8]) throws -> Void
  ) throws -> Int {
    try database.read { store in
      try store.transaction {
        guard let account = try store.account(name) else {
          throw ServerError(.notFound, "There is no user \(name). `holdfast users` lists them.")
        }
        let tables = Array(schema.tables.indices)
        var count = 0
        for table in format == .csv ? tables.map(Optional.some) : [nil] {
          let file = table.map { "\(schema.tables[$0].name).csv" } ?? "account.jsonl"
          let export = AccountExport(
            schema: schema, user: account.id, tables: table.map { [$0] } ?? tables, effort: .max)
          var lines = ExportLines(schema, table: table)
          try lines.writeHead(of: account.id, store)
          _ = try export.read(store, after: nil) { record in
            lines.write(record)
            count += 1
            if lines.bytes.count >= Self.portion { try write(file, lines.take()) }
            return true
          }
          try write(file, lines.take())
        }
        return count
      }
    }
  }

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
  ///   - tables: the tables that it may read and write, by their names or former ones; nil for all.
  ///   - zones: the zones that it may read and write; nil for all.
  ///   - directory: where the name is claimed; needed in a database that has joined a directory.
  /// - Returns: the token, which is not stored.
  /// - Throws: `ServerError.refused` for a name that is invalid or taken, `notFound` for an unknown table or zone.
  public func createToken(
    name: String, role: Role, tables: [String]?, zones: [String]?, directory: DirectoryAdministration? = nil
  ) throws -> String {
    let claim = try claim(in: directory)
    do { try Credentials.checkNewName(name) } catch { throw ServerError(.refused, error.detail) }
    let tables = try tables?.map { table in
      guard let index = schema.index(called: table) else {
        throw ServerError(.notFound, "The schema has no table \(table).")
      }
      return schema.tables[index].name
    }
    for names in [tables, zones].compactMap(\.self) where !(1...TokenScope.nameLimit).contains(names.count) {
      throw ServerError(.refused, "A token names 1 to \(TokenScope.nameLimit) tables, and as many zones.")
    }
    try requireZones(zones ?? [])
    let scope = TokenScope(role: role, tables: tables.map { TextSet($0) }, zones: zones.map { TextSet($0) })
    let token = makeToken(random: environment.random)
    try change(.token) { work, now, audited in
      let accounts = work.store.accounts
      if try accounts.id(ofName: name) != nil {
        throw ServerError(.refused, "The name \(name) is taken: choose another.")
      }
      let user = work.stores.newID(at: now)
      audited = Audited(target: user, detail: role.rawValue)
      if let claim { try claim(name, user) }
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
        throw ServerError(
          .refused, "\(name) has no password: it is a program, a guest, or of an identity provider.")
      }
      audited.target = user
      try accounts.setPassword(hash, of: user)
      try Accounts(work).revokeOthers(of: user, but: nil)
    }
  }
}
