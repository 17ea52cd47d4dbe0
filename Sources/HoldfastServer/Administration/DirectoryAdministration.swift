import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// An operator's view of a directory of databases, and operations on it: docs/DIRECTORY.md, section 6.
public final class DirectoryAdministration {
  let connection: PostgresConnection

  /// Connects to the PostgreSQL database of a directory.
  ///
  /// - Parameter url: its address, in libpq's form.
  public init(_ url: String) throws {
    var options = PostgresOptions()
    options.applicationName = "holdfast directory"
    do { connection = try PostgresConnection(url, options: options) } catch {
      throw ServerError(.unreachable, "The directory can't be reached: \(error)")
    }
  }

  deinit { connection.close() }

  /// Makes the tables of a directory. Does nothing where they are.
  public func create() throws { try connection.execute(DirectoryTables.create) }

  /// Lists the databases.
  public func databases() throws -> Administration.Listing {
    try requireTables()
    let rows = try connection.query(
      """
      SELECT d.name, d.url, CASE WHEN d.is_open THEN 'yes' ELSE 'no' END, n.count::text, p.count::text, e.count::text
      FROM holdfast_directory.databases d,
        LATERAL (SELECT count(*) FROM holdfast_directory.names n WHERE n.home = d.name) n,
        LATERAL (SELECT count(*) FROM holdfast_directory.presences p WHERE p.database = d.name) p,
        LATERAL (SELECT count(*) FROM holdfast_directory.ends e WHERE e.database = d.name) e
      ORDER BY d.name
      """)
    return Administration.Listing(
      columns: ["database", "url", "open", "names", "guests", "ends that wait"],
      rows: rows.indices.map { row in (0..<6).map { rows.text(row, $0) } })
  }

  /// Lets people sign up in a database, or not.
  ///
  /// - Throws: `ServerError.notFound`.
  public func setOpen(_ isOpen: Bool, _ name: String) throws {
    try requireTables()
    let rows = try connection.query(
      "UPDATE holdfast_directory.databases SET is_open = $2 WHERE name = $1 RETURNING name",
      PostgresParameters(name, isOpen))
    if rows.isEmpty { throw Self.unknown(name) }
  }

  static func unknown(_ name: String) -> ServerError {
    ServerError(.notFound, "There is no database \(name). `holdfast directory list` lists them.")
  }

  func requireTables() throws {
    let rows = try connection.query("SELECT to_regclass('holdfast_directory.ends') IS NOT NULL")
    if !rows.bool(0, 0) {
      throw ServerError(
        .notFound, "There is no directory in this database. `holdfast directory init` makes its tables.")
    }
  }

  // MARK: Joining

  /// How many accounts are looked at at once.
  static let portion = 1000

  /// Makes a database one of the directory, and claims the names of its accounts. Nothing is changed if one of them is taken.
  ///
  /// - Parameters:
  ///   - name: what the database is called.
  ///   - url: the address of its servers, for devices.
  ///   - isMoved: whether the database that joined under this name before is gone for good.
  /// - Returns: how many names were claimed; those that are taken, at most a hundred.
  public func join(
    _ administration: Administration, as name: String, url: String, isMoved: Bool
  ) throws -> (claimed: Int, taken: [String]) {
    guard DatabaseName.isValid(name) else { throw ServerError(.refused, DatabaseName.rule) }
    try requireTables()
    let (known, identity) = (try administration.databaseName(), try administration.identity())
    if let known, known != name {
      throw ServerError(.refused, "The database has joined as \(known). A database keeps its name.")
    }
    try connection.execute("BEGIN")
    do {
      try put(name, url, identity, isMoved: isMoved)
      let (claimed, taken) = try claim(administration, home: name)
      if !taken.isEmpty {
        try connection.execute("ROLLBACK")
        return (0, taken)
      }
      try connection.execute("COMMIT")
      // After a crash in front of this, the command is repeated.
      try administration.setDatabaseName(name)
      return (claimed, [])
    } catch {
      if connection.isUsable { try? connection.execute("ROLLBACK") }
      throw error
    }
  }

  private func put(_ name: String, _ url: String, _ identity: String, isMoved: Bool) throws {
    let added = try connection.query(
      """
      INSERT INTO holdfast_directory.databases AS d (name, url, identity) VALUES ($1, $2, $3)
      ON CONFLICT (name) DO UPDATE SET url = excluded.url, identity = excluded.identity WHERE d.identity = excluded.identity OR $4
      RETURNING name
      """, PostgresParameters(name, url, identity, isMoved))
    if added.isEmpty { throw Directory.copied(name) }
  }

  private func claim(_ administration: Administration, home: String) throws -> (Int, [String]) {
    var (last, claimed, taken) = ("", 0, [String]())
    while taken.count < 100,
      let (names, parameters) = try portion(.residents, of: administration, after: &last, home)
    {
      // Accounts that got another name after a crash of a join.
      try connection.run(
        PostgresStatement(
          """
          DELETE FROM holdfast_directory.names n USING \(Self.people)
          WHERE n.user_id = c.id AND n.home = $3 AND n.name <> c.name
          """), parameters)
      let rows = try connection.query(
        PostgresStatement(
          """
          WITH known AS (
            UPDATE holdfast_directory.names n SET is_served = true, issuer = c.issuer, subject = c.subject FROM \(Self.people)
            WHERE n.name = c.name AND n.user_id = c.id AND n.home = $3 AND \(Self.isFree) RETURNING n.name),
          claimed AS (\(Self.claimAll) RETURNING name)
          SELECT name FROM known UNION ALL SELECT name FROM claimed
          """), parameters)
      let mine = TextSet(rows.texts)
      claimed += mine.count
      taken += names.filter { !mine.contains($0) }
    }
    return (claimed, Array(taken.prefix(100)))
  }

  /// The accounts of a portion, as a source of rows.
  static let people = """
    (SELECT name, id, nullif(issuer, '') AS issuer, nullif(subject, '') AS subject
      FROM unnest($1, $2, $4, $5) AS a (name, id, issuer, subject)) AS c
    """

  /// Whether no other user is the same person of the identity provider.
  static let isFree = """
    NOT EXISTS (SELECT FROM holdfast_directory.names o
      WHERE o.issuer = c.issuer AND o.subject = c.subject AND o.user_id <> c.id)
    """

  /// Claims the names of a portion's accounts, as far as nobody has them.
  static let claimAll = """
    INSERT INTO holdfast_directory.names (name, user_id, home, is_served, issuer, subject)
    SELECT c.name, c.id, $3, true, c.issuer, c.subject FROM \(people) ON CONFLICT DO NOTHING
    """

  /// The next accounts of a database, and the parameters of a statement about them: their names, their ids, the home; and of residents the
  /// issuers and subjects, each empty for none.
  ///
  /// - Parameter last: the id of the last account of the portion before; moves on.
  /// - Returns: nil after the last account.
  func portion(
    _ kind: AccountKind, of administration: Administration, after last: inout String, _ home: String
  ) throws -> (names: [String], parameters: PostgresParameters)? {
    let accounts = try administration.accounts(kind, after: last, limit: Self.portion)
    guard let end = accounts.last else { return nil }
    last = end.id
    let names = accounts.map(\.name)
    var parameters = PostgresParameters(array: names)
    parameters.append(array: accounts.map(\.id))
    parameters.append(home)
    if kind == .residents {
      parameters.append(array: accounts.map { $0.identity?.issuer ?? "" })
      parameters.append(array: accounts.map { $0.identity?.subject ?? "" })
    }
    return (names, parameters)
  }

  /// Claims the name of a new account.
  ///
  /// - Throws: `ServerError.refused` if it is taken.
  func claim(_ name: String, for user: String, home: String) throws {
    let rows = try connection.query(
      """
      INSERT INTO holdfast_directory.names (name, user_id, home, is_served) VALUES ($1, $2, $3, false)
      ON CONFLICT DO NOTHING RETURNING name
      """, PostgresParameters(name, user, home))
    if rows.isEmpty {
      throw ServerError(.refused, "The name \(name) is taken in the directory: choose another.")
    }
  }
}

extension Administration {
  /// What claims the name of a new account; nil without a directory.
  ///
  /// - Throws: `ServerError.refused` if the database has joined a directory that is not given.
  func claim(in directory: DirectoryAdministration?) throws -> (
    (_ name: String, _ user: String) throws -> Void
  )? {
    guard let home = try databaseName() else { return nil }
    guard let directory else {
      throw ServerError(
        .refused,
        "The database has joined a directory as \(home), where the name is claimed: say which with --directory."
      )
    }
    return { try directory.claim($0, for: $1, home: home) }
  }

  /// The name of the database in its directory; nil if it has not joined one.
  func databaseName() throws -> String? { try database.read { try $0.databaseName() } }

  func identity() throws -> String { try location.identity() }

  func accounts(_ kind: AccountKind, after id: String, limit: Int) throws -> [Resident] {
    try database.read { try $0.accounts(kind, after: id, limit: limit) }
  }

  func hasAccount(_ id: String) throws -> Bool { try database.read { try $0.hasAccount(id) } }

  func setDatabaseName(_ name: String) throws {
    try change(.join) { work, _, audited in
      audited.target = name
      try work.store.guests.setDatabaseName(name)
    }
  }

  /// Gives an account another name, before its database joins a directory. Memberships keep the name under which they were made.
  ///
  /// - Throws: `ServerError`: `notFound`; `refused` for a name that is none or is taken, and in a database of a directory.
  public func rename(_ name: String, to new: String) throws {
    do { try Credentials.checkNewName(new) } catch { throw ServerError(.refused, error.detail) }
    if let joined = try databaseName() {
      throw ServerError(
        .refused, "The database has joined a directory as \(joined), which knows the user by this name.")
    }
    try change(.rename) { work, _, audited in
      let accounts = work.store.accounts
      guard let user = try accounts.id(ofName: name) else {
        throw ServerError(.notFound, "There is no user \(name). `holdfast users` lists them.")
      }
      if try accounts.id(ofName: new) != nil {
        throw ServerError(.refused, "The name \(new) is taken: choose another.")
      }
      audited.target = user
      try accounts.setName(new, of: user)
    }
  }
}
