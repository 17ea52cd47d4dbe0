/// The maximum number of connections of a pool, and its timeouts.
public struct PostgresPoolLimits: Sendable, Hashable {
  /// The maximum number of connections, lent and idle together; at least 1.
  public var connections = 8

  /// The maximum waiting time of a borrower when all are lent. Then it gets `.poolExhausted`.
  public var wait: Duration = .seconds(5)

  /// The maximum idle time of a connection that is lent without checking it first, which costs a round trip.
  public var trustedIdle: Duration = .seconds(30)

  /// The pause after a failed attempt to connect. Meanwhile borrowers get the same error immediately.
  public var pauseAfterFailure: Duration = .milliseconds(250)

  /// Creates the default limits.
  public init() {}
}
