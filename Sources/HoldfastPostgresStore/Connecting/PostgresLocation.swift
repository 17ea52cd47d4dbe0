import HoldfastCore
package import HoldfastPostgres

/// Where a PostgreSQL database is reached.
public struct PostgresLocation: Sendable {
  /// The database, or a pooler before it, as libpq takes it: `postgres://…` or `host=… dbname=…`.
  public var url: String
  /// The database itself, when `url` names a pooler that lends connections for a transaction; nil when `url` is the database.
  public var direct: String?
  /// Whether the tables are distributed over the nodes of a Citus cluster, by zone.
  public var isDistributed: Bool {
    get { distribution != .none }
    set { distribution = newValue ? .citus : .none }
  }
  /// How the tables are distributed.
  package var distribution = Distribution.none
  /// Is told each statement before it is sent.
  package var onStatement: (@Sendable (String) -> Void)?
  /// How many connections read; as many requests are read at the same time. 8 unless given, at least 1.
  public var readers = 8
  /// How long a statement may read; 10 seconds unless given. Behind a pooler it is for the pooler to say.
  public var readTimeLimit = Duration.seconds(10)

  /// Whether tables are distributed.
  package enum Distribution: Sendable {
    case none
    /// By zone, on a cluster.
    case citus
    /// They have the form that could be distributed, and all lie in one database that knows nothing of it.
    case formAlone
  }

  /// A location of its parts.
  public init(_ url: String, direct: String? = nil) {
    self.url = url
    self.direct = direct
  }

  /// What a connection is for; with "holdfast" before it, its `application_name` in `pg_stat_activity`.
  package enum Purpose: String {
    /// The fast lane.
    case writes
    /// The slow lane, and operators.
    case waits
    case reads
    case listens
    /// Holding the turn of who makes a pass over what may be purged.
    case purges
    /// Making and extending the database.
    case opens
  }

  /// How connections for the work of requests are used.
  package func options(_ purpose: Purpose) -> PostgresOptions {
    var options = PostgresOptions()
    options.preparesStatements = direct == nil
    options.onStatement = onStatement
    options.applicationName = "holdfast \(purpose)"
    return options
  }

  /// Makes a connection's prepared statements fit for tables that grow: each is planned once, perhaps when its tables are still empty, and all
  /// of them look rows up by keys.
  ///
  /// A pooler's connection is left alone: its statements are planned at each use. So is that to a cluster, whose coordinator plans for the
  /// shards of the values that are given.
  package func prepare(_ connection: PostgresConnection) throws(PostgresError) {
    guard direct == nil, !isDistributed else { return }
    try connection.execute(
      """
      SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;
      SET enable_mergejoin = off; SET jit = off
      """)
  }

  /// Whether each transaction of a connection that reads is of one moment by the connection's settings, of which a pooler keeps none.
  var readsRepeatably: Bool { direct == nil && !isDistributed }

  /// Prepares a connection that reads: all that one pipeline asks for is of one moment, and no statement runs for longer than reading may take.
  func prepareReads(of connection: PostgresConnection) throws(PostgresError) {
    guard direct == nil else { return }
    if readsRepeatably {
      try connection.execute(
        "SET default_transaction_isolation = 'repeatable read'; SET default_transaction_read_only = on")
    }
    let (seconds, attoseconds) = readTimeLimit.components
    let milliseconds = min(max(seconds, 0), 86_400) * 1000 + attoseconds / 1_000_000_000_000_000
    try connection.execute("SET statement_timeout = \(milliseconds)")
  }

  /// A connection to the database itself, for what lasts longer than a transaction.
  package func connectDirectly(_ purpose: Purpose) throws(PostgresError) -> PostgresConnection {
    var options = options(purpose)
    options.preparesStatements = true
    // Who makes or changes the tables asks all shards, one statement after the other.
    if purpose == .opens { options.onStatement = nil }
    let connection = try PostgresConnection(direct ?? url, options: options)
    // Whatever the database or the role has set: the names that the catalog writes are compared with those of before, texts in checks are
    // written with single backslashes, and no row is hidden without an error.
    try connection.execute(
      "SET quote_all_identifiers = off; SET standard_conforming_strings = on; SET row_security = off")
    return connection
  }
}
