/// What the service takes from the outside world, so that a simulation can give it another one.
public struct ServerEnvironment: Sendable {
  /// Milliseconds since 1970-01-01 UTC.
  public var now: @Sendable () -> Int64
  /// Milliseconds since any moment, of a clock that nobody sets and that goes on while the machine sleeps; `now` unless given.
  public var measured: @Sendable () -> Int64
  /// So many random bytes, fit for secrets.
  public var random: @Sendable (_ count: Int) -> [UInt8]
  /// How passwords are hashed and verified.
  public var passwords: PasswordHashing
  /// The size in bytes of an answer from which on no further change is begun.
  package var answerSize = 4 << 20
  /// What one user may have.
  public var limits = UserLimits()
  /// How much a zone may hold.
  public var zoneLimits = ZoneLimits()
  /// After how many milliseconds of a transaction no further command, change set or item is begun in it, and after how many change sets or items
  /// of a request; at least one is.
  package var writeBudget: (milliseconds: Int64, changeSets: Int) = (200, .max)
  /// After how much work of a change set no further operation of it is begun; see `ChangeSetWork`.
  package var changeSetWork = ChangeSetWork.limit
  /// After how much work of a deletion the rest of it is left to another transaction.
  package var pieceWork = ChangeSetWork.limit / 20

  /// An environment of its parts.
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

/// Hashes passwords, slowly, and verifies them.
public struct PasswordHashing: Sendable {
  /// The text to store for a password; nil when there is no memory for it now.
  public var hash: @Sendable (_ password: String) -> String?
  /// Whether a password is the one of a stored text.
  public var verify: @Sendable (_ password: String, _ stored: String) -> Bool

  /// Hashing of its parts.
  public init(
    hash: @escaping @Sendable (_ password: String) -> String?,
    verify: @escaping @Sendable (_ password: String, _ stored: String) -> Bool
  ) {
    self.hash = hash
    self.verify = verify
  }
}
