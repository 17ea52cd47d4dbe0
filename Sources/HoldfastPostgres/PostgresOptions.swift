package import HoldfastSystem

/// The options of a connection. The connection string overrides them.
public struct PostgresOptions: Sendable {
  /// The name shown in `pg_stat_activity`.
  public var applicationName = "holdfast"

  /// The time limit for opening a connection to one address. The next one of the connection string, or of a name, has the same; in seconds, at
  /// least 1.
  public var connectTimeout: Duration = .seconds(5)

  /// Whether statements are prepared once and then run by name. Disable it with a pooler in transaction mode, such as PgBouncer: the next
  /// transaction may run on another server connection, which does not have the statement.
  public var preparesStatements = true

  /// The idle time before TCP probes the peer, in seconds.
  public var keepaliveIdle: Duration = .seconds(10)

  /// The time after which unacknowledged bytes make the connection count as lost, in milliseconds.
  public var unacknowledgedTimeout: Duration = .seconds(20)

  /// How long the server may send nothing while it owes an answer, other than to a COPY; nil, the default, sets no limit. The connection
  /// then counts as lost. TCP does not notice a server that is stopped or that hangs, because its system still acknowledges what is sent.
  public var silenceLimit: Duration?

  /// When it is woken, the connection counts as lost in its current wait for an answer, or else in its next one; default nil.
  public var interruption: PostgresWaker?

  /// Receives the text of each statement before it is sent, on the sending thread; default nil.
  public var onStatement: (@Sendable (String) -> Void)?

  /// Receives the statements that take too long; nil for nobody.
  package var slow: SlowStatements?

  /// Creates the default options.
  public init() {}
}
