/// How a connection is made and used. What the connection string says itself goes before it.
public struct PostgresOptions: Sendable {
  /// The name that the server shows in `pg_stat_activity`.
  public var applicationName = "holdfast"

  /// How long making a connection may take, over all hosts of the connection string; to the second, from 1 up.
  public var connectTimeout: Duration = .seconds(5)

  /// Whether statements are prepared once and then run by name. Not with a pooler that lends the server's
  /// connection for a transaction, as PgBouncer does: the next transaction may find another that knows no name.
  public var preparesStatements = true

  /// How long a connection may be silent before TCP asks whether the peer lives; to the second.
  public var keepaliveIdle: Duration = .seconds(10)

  /// How long sent bytes may stay unacknowledged before the connection counts as lost; to the millisecond.
  public var unacknowledgedTimeout: Duration = .seconds(20)

  /// Is told the text of each statement before it is sent, on the thread that sends it; nil for nobody.
  public var onStatement: (@Sendable (String) -> Void)?

  /// Makes the options with their defaults.
  public init() {}
}
