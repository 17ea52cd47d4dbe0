/// How many connections a pool opens, and how long its waits are.
public struct PostgresPoolLimits: Sendable, Hashable {
  /// How many connections there may be, lent and idle together; from 1 up.
  public var connections = 8

  /// How long a borrower waits for one when all are lent, before it gets `.poolExhausted`.
  public var wait: Duration = .seconds(5)

  /// How long a connection may have been idle and still be lent without asking the server first, which costs a
  /// round trip.
  public var trustedIdle: Duration = .seconds(30)

  /// For how long after a connection could not be made no other is tried, and borrowers get the same error at once.
  public var pauseAfterFailure: Duration = .milliseconds(250)

  /// Makes the limits with their defaults.
  public init() {}
}
