import HoldfastConcurrency
import HoldfastCore
import HoldfastPostgres
import HoldfastService
import Synchronization

/// The directory of the databases, as the servers of one of them use it: docs/DIRECTORY.md.
///
/// Each call waits for the directory, eight seconds at most. So only the thread for requests to other servers, and the directory's own, make
/// calls.
final class Directory: Sendable {
  /// The name of the database that is served.
  let name: String
  /// How long a guest's session lasts after its last pass.
  let guestSession: Duration
  /// Where the database is that is served, as it joined.
  private let identity: String
  /// Whether the directory has this database under its name, and no copy of it.
  private let isVerified = Atomic<Bool>(false)
  private let pool: PostgresPool<Void>
  private let log: @Sendable (String) -> Void
  /// Whether the last call had no answer. Only changes of it are logged.
  private let isLost = Atomic<Bool>(false)
  /// Whether the log says that the directory refuses this database.
  private let isRefused = Atomic<Bool>(false)

  /// How long a pass is good, in seconds.
  static let passLifetime: Int64 = 300

  init(
    _ configuration: DirectoryConfiguration, name: String, identity: String,
    log: @escaping @Sendable (String) -> Void
  ) {
    (self.name, self.identity) = (name, identity)
    guestSession = configuration.guestSession
    pool = Self.pool(configuration.url)
    self.log = log
  }

  /// The connections: two for requests, and one for the directory's own thread.
  static func pool(_ url: String) -> PostgresPool<Void> {
    var options = PostgresOptions()
    options.applicationName = "holdfast directory"
    options.connectTimeout = .seconds(3)
    options.silenceLimit = .seconds(5)
    var limits = PostgresPoolLimits()
    limits.connections = 3
    limits.wait = .seconds(1)
    limits.pauseAfterFailure = .seconds(1)
    return PostgresPool(url, options: options, limits: limits) { _ in }
  }

  func close() { pool.close() }

  /// Asks the directory.
  ///
  /// - Throws: `Problem.directoryUnavailable`.
  func query(_ statement: PostgresStatement, _ parameters: PostgresParameters) throws -> PostgresRows {
    try asking { try $0.query(statement, parameters) }
  }

  private func asking<Answer>(_ body: (PostgresConnection) throws -> Answer) throws -> Answer {
    do {
      let answer = try pool.withConnection { connection, _ in
        try verify(on: connection)
        return try body(connection)
      }
      if isLost.exchange(false, ordering: .relaxed) { log("The directory of the databases answers again.") }
      return answer
    } catch {
      noteLoss(error)
      throw Problem(.directoryUnavailable, retryAfter: 5)
    }
  }

  private func noteLoss(_ error: any Error) {
    if error is ServerError {
      if !isRefused.exchange(true, ordering: .relaxed) { log("The directory of the databases: \(error)") }
    } else if !isLost.exchange(true, ordering: .relaxed) {
      log("The directory of the databases can't be used: \(error)")
    }
  }

  /// The directory of the databases; nil without one.
  ///
  /// - Throws: `ServerError.refused` if the database has joined one and none is configured, or the other way round, or it is a copy.
  static func opened(
    _ database: any ServerDatabase, _ location: DatabaseLocation, _ settings: DirectoryConfiguration?,
    _ failed: @escaping @Sendable (String) -> Void
  ) throws -> Directory? {
    switch (try database.read({ try $0.databaseName() }), settings) {
    case (nil, nil): return nil
    case (let name?, nil):
      throw ServerError(
        .refused,
        "The database has joined a directory as \(name): say which with --directory. Without it two users could get one name."
      )
    case (nil, _?):
      throw ServerError(
        .refused, "The database has not joined the directory. Run: holdfast directory join NAME --url ADDRESS"
      )
    case (let name?, let settings?):
      let directory = Directory(settings, name: name, identity: try location.identity(), log: failed)
      try directory.verify()
      return directory
    }
  }

  // MARK: Passes

  // All times of a pass are of the directory's clock. The names are locked first, so that an erasure sees the presence.
  private static let addPass: PostgresStatement = """
    WITH target AS (SELECT url FROM holdfast_directory.databases WHERE name = $4),
    served AS (
      UPDATE holdfast_directory.names SET is_served = true WHERE name = $3 AND user_id = $2 AND home = $5 RETURNING 1),
    presence AS (
      INSERT INTO holdfast_directory.presences (user_id, database) SELECT $2, $4 FROM target, served
      ON CONFLICT DO NOTHING),
    pass AS (
      INSERT INTO holdfast_directory.passes (hash, user_id, name, home, target, home_device, expires, session_ends)
      SELECT $1, $2, $3, $5, $4, $6, now() + $7 * interval '1 second', now() + $8 * interval '1 millisecond'
      FROM target, served)
    SELECT (SELECT url FROM target), EXISTS (SELECT FROM served)
    """

  /// Stores a pass for another database.
  ///
  /// - Parameter rest: how long the session that makes it may last.
  /// - Returns: the address of the database.
  func addPass(
    _ pass: TokenHash, of user: Resident, device: String, rest: Duration, to target: String
  ) throws -> String {
    // No session of a guest is longer.
    let rest = min(rest, .seconds(31 * 86_400)).wholeMilliseconds
    let rows = try query(
      Self.addPass,
      PostgresParameters(
        pass.withBytes { Array($0) }, user.id, user.name, target, name, device, Self.passLifetime, rest))
    guard let url = rows.optionalText(0, 0) else {
      throw Problem(.notFound, "There is no database \(target.prefix(64)). GET /v1/databases lists them.")
    }
    guard rows.bool(0, 1) else {
      throw Problem(
        .directoryUnavailable,
        "The directory has another user under this name. The operator runs holdfast directory check.")
    }
    return url
  }

  private static let findPass: PostgresStatement = """
    SELECT user_id, name, home, home_device, (extract(epoch FROM session_ends - now()) * 1000)::bigint
    FROM holdfast_directory.passes WHERE hash = $1 AND target = $2 AND expires > now() AND session_ends > now()
    """

  /// What a pass says.
  struct Pass {
    let user: Resident
    let home: String
    /// The device in the home whose session made it.
    let device: String
    /// How long that session may last.
    let rest: Duration
  }

  /// What a pass for this database says; nil if it is none.
  func pass(_ hash: TokenHash) throws -> Pass? {
    let rows = try query(Self.findPass, PostgresParameters(hash.withBytes { Array($0) }, name))
    if rows.isEmpty { return nil }
    return Pass(
      user: Resident(id: rows.text(0, 0), name: rows.text(0, 1)), home: rows.text(0, 2),
      device: rows.text(0, 3), rest: .milliseconds(rows.int64(0, 4)))
  }

  private static let takePass: PostgresStatement = """
    DELETE FROM holdfast_directory.passes WHERE hash = $1 AND target = $2 AND expires > now() RETURNING true
    """

  /// Uses a pass up.
  ///
  /// - Returns: whether it was good until now.
  func takePass(_ hash: TokenHash) throws -> Bool {
    try !query(Self.takePass, PostgresParameters(hash.withBytes { Array($0) }, name)).isEmpty
  }

  private static let dropPass: PostgresStatement = "DELETE FROM holdfast_directory.passes WHERE hash = $1"
  private static let dropExpired: PostgresStatement =
    "DELETE FROM holdfast_directory.passes WHERE expires < now()"

  func dropPass(_ hash: TokenHash) throws {
    _ = try query(Self.dropPass, PostgresParameters(hash.withBytes { Array($0) }))
  }

  func dropExpiredPasses() throws { _ = try query(Self.dropExpired, PostgresParameters()) }

  // MARK: Ends

  private static let tellEnds: PostgresStatement = """
    WITH gone AS (DELETE FROM holdfast_directory.passes WHERE home_device = ANY ($1))
    INSERT INTO holdfast_directory.ends (database, home_device)
    SELECT p.database, e.device FROM unnest($1, $2) AS e (device, user_id)
    JOIN holdfast_directory.presences p ON p.user_id = e.user_id ORDER BY p.database, e.device
    ON CONFLICT (database, home_device) DO UPDATE SET id = DEFAULT
    """
  private static let dropNames: PostgresStatement = """
    WITH passes AS (DELETE FROM holdfast_directory.passes WHERE user_id = ANY ($1))
    DELETE FROM holdfast_directory.names WHERE user_id = ANY ($1) AND home = $2
    """
  private static let tellErasures: PostgresStatement = """
    WITH gone AS (DELETE FROM holdfast_directory.presences WHERE user_id = ANY ($1) RETURNING user_id, database)
    INSERT INTO holdfast_directory.ends (database, user_id) SELECT database, user_id FROM gone ORDER BY 1, 2
    ON CONFLICT (database, user_id) DO UPDATE SET id = DEFAULT
    """

  /// Has the other databases end sessions of guests, and erase guests. A repeat does no harm. An end that is told again gets a new number: a
  /// database that has done the older one does not drop it.
  func tell(_ ended: [EndedSession], erased: [String]) throws {
    if !ended.isEmpty {
      var parameters = PostgresParameters(array: ended.map(\.device))
      parameters.append(array: ended.map(\.user))
      _ = try query(Self.tellEnds, parameters)
    }
    if !erased.isEmpty {
      _ = try asking { try Self.tellErasures(of: erased, home: name, on: $0) }
    }
  }

  /// Frees the names of users, and has the databases in which they are guests erase them.
  static func tellErasures(of users: [String], home: String, on connection: PostgresConnection) throws {
    var parameters = PostgresParameters(array: users)
    parameters.append(home)
    try connection.run(dropNames, parameters)
    // A statement of its own: it sees the presences of all requests that found the name before.
    try connection.run(tellErasures, PostgresParameters(array: users))
  }

  private static let findEnds: PostgresStatement = """
    SELECT id, home_device, user_id FROM holdfast_directory.ends WHERE database = $1 ORDER BY id LIMIT 200
    """
  private static let dropEnds: PostgresStatement = "DELETE FROM holdfast_directory.ends WHERE id = ANY ($1)"

  /// What this database has to end, with the numbers by which it is dropped.
  func ends() throws -> (numbers: [Int64], ends: GuestEnds) {
    let rows = try query(Self.findEnds, PostgresParameters(name))
    var ends = GuestEnds()
    ends.homeDevices = rows.indices.compactMap { rows.optionalText($0, 1) }
    ends.users = rows.indices.compactMap { rows.optionalText($0, 2) }
    return (rows.indices.map { rows.int64($0, 0) }, ends)
  }

  func dropEnds(_ numbers: [Int64]) throws {
    _ = try query(Self.dropEnds, PostgresParameters(array: numbers))
  }

  // MARK: Databases

  private static let findDatabases: PostgresStatement = """
    SELECT d.name, d.url, EXISTS (
      SELECT FROM holdfast_directory.presences p WHERE p.user_id = $1 AND p.database = d.name)
    FROM holdfast_directory.databases d ORDER BY d.name LIMIT 1000
    """

  /// All databases, and whether a user is a guest there.
  func databases(of user: String) throws -> [(name: String, url: String, isGuest: Bool)] {
    let rows = try query(Self.findDatabases, PostgresParameters(user))
    return rows.indices.map { (rows.text($0, 0), rows.text($0, 1), rows.bool($0, 2)) }
  }

  private static let findIdentity: PostgresStatement =
    "SELECT identity FROM holdfast_directory.databases WHERE name = $1"

  /// Checks that the database that is served is the one that joined. If the directory does not answer now, nothing is asked of it later before
  /// this is known.
  ///
  /// - Throws: `ServerError.refused`. A directory that does not answer is logged.
  func verify() throws(ServerError) {
    do { try pool.withConnection { connection, _ in try verify(on: connection) } } catch let refusal
      as ServerError
    {
      throw refusal
    } catch { noteLoss(error) }
  }

  private func verify(on connection: PostgresConnection) throws {
    if isVerified.load(ordering: .acquiring) { return }
    let rows = try connection.query(Self.findIdentity, PostgresParameters(name))
    if rows.isEmpty {
      throw ServerError(
        .refused,
        "The directory does not know the database \(name). Run: holdfast directory join \(name) --url ADDRESS"
      )
    }
    if rows.text(0, 0) != identity { throw Self.copied(name) }
    isVerified.store(true, ordering: .releasing)
  }

  /// The refusal of a copy of a database.
  static func copied(_ name: String) -> ServerError {
    ServerError(
      .refused,
      """
      Another database has joined as \(name): this is a copy of it, or it was moved or restored to another place. Two of them must \
      not be served. If the other one is gone for good, run: holdfast directory join \(name) --url ADDRESS --moved
      """)
  }
}
