/// The clock, randomness and limits of the service. A simulation replaces them.
public struct ServerEnvironment: Sendable {
  /// Milliseconds since 1970-01-01 UTC.
  public var now: @Sendable () -> Int64
  /// Milliseconds of a monotonic clock that also runs while the machine sleeps. The default is `now`.
  public var measured: @Sendable () -> Int64
  /// Returns random bytes that are suitable for secrets.
  public var random: @Sendable (_ count: Int) -> [UInt8]
  /// Hashes and verifies passwords.
  public var passwords: PasswordHashing
  /// The answer size in bytes from which no further change is begun.
  package var answerSize = 4 << 20
  /// The maximum number of records of a result.
  package var resultLimit = 250_000
  /// The limits per user.
  public var limits = UserLimits()
  /// The limits per zone.
  public var zoneLimits = ZoneLimits()
  /// The time budget of a transaction in milliseconds, and the maximum number of change sets or items of a request in it. Beyond these, the
  /// transaction begins no further command, change set or item. It processes at least one.
  package var writeBudget: (milliseconds: Int64, changeSets: Int) = (200, .max)
  /// The work of a change set beyond which it is refused; see `ChangeSetWork`.
  package var changeSetWork = ChangeSetWork.limit
  /// The work of a deletion beyond which the rest is left to another transaction.
  package var pieceWork = ChangeSetWork.limit / 20

  /// Creates an environment.
  public init(
    now: @escaping @Sendable () -> Int64, random: @escaping @Sendable (_ count: Int) -> [UInt8],
    passwords: PasswordHashing
  ) {
    self.now = now
    measured = now
    self.random = random
    self.passwords = passwords
  }
}

/// Hashes and verifies passwords; deliberately slow.
public struct PasswordHashing: Sendable {
  /// Returns the text to store for a password; nil if memory is short.
  public var hash: @Sendable (_ password: String) -> String?
  /// Whether a password matches a stored text.
  public var verify: @Sendable (_ password: String, _ stored: String) -> Bool
  /// A text as `hash` returns it, of a password that nobody has. A password is verified against it when no account has the name, so that the
  /// answer takes as long.
  public var decoy: String

  /// Creates a password hashing.
  public init(
    hash: @escaping @Sendable (_ password: String) -> String?,
    verify: @escaping @Sendable (_ password: String, _ stored: String) -> Bool,
    decoy: String
  ) {
    self.hash = hash
    self.verify = verify
    self.decoy = decoy
  }
}
