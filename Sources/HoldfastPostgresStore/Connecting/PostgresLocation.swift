import HoldfastCore
package import HoldfastPostgres
package import HoldfastSystem

/// The location of a PostgreSQL database.
public struct PostgresLocation: Sendable {
  /// The database or its pooler, in libpq's form: `postgres://…` or `host=… dbname=…`.
  public var url: String
  /// The database itself, if `url` names a pooler in transaction mode; nil if `url` is the database.
  public var direct: String?
  /// Receives each statement before it is sent.
  package var onStatement: (@Sendable (String) -> Void)?
  /// Receives the statements that take too long; nil for nobody.
  package var slow: SlowStatements?
  /// The number of connections for reads, which limits the concurrent reads. The default is 8, the minimum 1.
  public var readers = 8
  /// The time limit of a reading statement. The default is 10 seconds. A pooler must set its own limit.
  public var readTimeLimit = Duration.seconds(10)

  /// How long the database may be silent while it owes an answer to a write, or to the test of the connection that listens.
  package var silenceLimit = Duration.seconds(30)

  /// How long after the last use of its connection the fast lane relies on what it remembers. A network may drop an idle connection silently.
  package var memoryLife = Duration.seconds(2)

  /// Creates a location.
  public init(_ url: String, direct: String? = nil) {
    self.url = url
    self.direct = direct
  }

  /// The purpose of a connection. After "holdfast", it is the `application_name` in `pg_stat_activity`.
  package enum Purpose: String {
    /// The fast lane.
    case writes
    /// The slow lane.
    case waits
    /// Operators' commands.
    case administers
    case reads
    case listens
    /// Holding the lock of a retention pass.
    case purges
    /// Creating and migrating the database.
    case opens
  }

  /// The options of connections that serve requests. Those for work that rightly takes long have no limit of silence.
  package func options(_ purpose: Purpose) -> PostgresOptions {
    var options = PostgresOptions()
    options.preparesStatements = direct == nil
    options.onStatement = onStatement
    options.slow = slow
    options.applicationName = "holdfast \(purpose)"
    switch purpose {
    case .writes, .waits, .listens, .purges: options.silenceLimit = silenceLimit
    case .reads: options.silenceLimit = readTimeLimit + silenceLimit
    case .administers, .opens: options.silenceLimit = nil
    }
    return options
  }

  /// Takes the schema `holdfast` out of a connection's `search_path`. By default the path begins with the schema named like the role. For a
  /// role `holdfast` the app's tables would then be made among Holdfast's own, and a team's trigger would find those in place of the
  /// team's. Without another schema the path is `public`.
  private static let leaveOwnSchema = """
    SELECT set_config('search_path', coalesce((SELECT string_agg(quote_ident(p.name), ', ' ORDER BY p.place)
      FROM unnest(current_schemas(false)) WITH ORDINALITY p (name, place) WHERE p.name <> 'holdfast'), 'public'), false)
    """

  /// Lets numbers be written out whole: below 1 they are rounded, and the greatest ones are then none of their type. A `real` is read through
  /// its text.
  private static let wholeNumbers = "SET extra_float_digits = 1"

  /// Switches off the time limits that the role or the database may have, and of which earlier servers do not know all.
  private static let noTimeLimits = """
    SELECT set_config(name, '0', false) FROM pg_settings WHERE name IN
      ('statement_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout', 'transaction_timeout')
    """

  /// Configures the planner for prepared statements: each is planned once, perhaps for empty tables, and all of them look rows up by key.
  /// Rows that row-level security hides are an error: a hidden record is not a deleted one.
  ///
  /// Connections of a pooler are not configured: their statements are planned at each use, and the role has the other settings
  /// (`PoolerSettings`).
  package func prepare(_ connection: PostgresConnection) throws(PostgresError) {
    guard direct == nil else { return }
    try connection.execute(
      """
      SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;
      SET enable_mergejoin = off; SET jit = off; SET row_security = off; \(Self.wholeNumbers); \(Self.leaveOwnSchema);
      \(Self.noTimeLimits)
      """)
  }

  /// Whether each transaction of a connection that reads is of one moment by the connection's settings, of which a pooler keeps none.
  var readsRepeatably: Bool { direct == nil }

  /// Prepares a connection that reads: all that one pipeline asks for is of one moment, and no statement runs for longer than reading may take.
  func prepareReads(of connection: PostgresConnection) throws(PostgresError) {
    guard readsRepeatably else { return }
    try connection.execute(
      "SET default_transaction_isolation = 'repeatable read'; SET default_transaction_read_only = on")
    let (seconds, attoseconds) = readTimeLimit.components
    let milliseconds = min(max(seconds, 0), 86_400) * 1000 + attoseconds / 1_000_000_000_000_000
    try connection.execute("SET statement_timeout = \(milliseconds)")
  }

  /// A connection to the database itself, for work beyond one transaction.
  package func connectDirectly(_ purpose: Purpose) throws(PostgresError) -> PostgresConnection {
    var options = options(purpose)
    options.preparesStatements = true
    // A migration is no request.
    if purpose == .opens { (options.onStatement, options.slow) = (nil, nil) }
    let connection = try PostgresConnection(direct ?? url, options: options)
    // Overrides settings of the database or role. Names in the catalog are compared as text, checks contain single backslashes, and no row
    // may be hidden silently. To compile a question about the catalog takes longer than to answer it. A limit on statements is meant for
    // requests: this work reads the whole catalog or database, and may build indexes.
    try connection.execute(
      """
      SET quote_all_identifiers = off; SET standard_conforming_strings = on; SET row_security = off; SET jit = off; \(Self.wholeNumbers);
      \(Self.leaveOwnSchema); \(Self.noTimeLimits)
      """)
    return connection
  }
}
