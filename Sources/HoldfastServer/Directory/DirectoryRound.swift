import HoldfastCore
import HoldfastService

/// Tells the directory what has ended here, and ends here what the directory says: docs/DIRECTORY.md, section 5.
///
/// All servers of a database do this at once: each step may be repeated.
struct DirectoryRound: Sendable {
  let directory: Directory
  let database: any ServerDatabase
  /// The trusted time, in milliseconds since 1970.
  let now: @Sendable () -> Int64

  /// How much a step does at once.
  private static let limit = 200

  /// Takes all steps.
  ///
  /// - Parameter write: has the writer do a command, and waits for it; nil when it could not be done.
  /// - Returns: whether the erasure of guests has begun.
  func run(_ write: (ServiceCommand) -> Outcome?) throws -> Bool {
    let work = try database.read { try $0.directoryWork(at: now(), limit: Self.limit) }
    var expired = GuestEnds()
    expired.expired = work.expired
    // This needs no directory.
    if !expired.isEmpty { _ = write(.endGuests(expired)) }
    if !work.ended.isEmpty || !work.erased.isEmpty {
      try directory.tell(work.ended, erased: work.erased)
      // The rows here say so until now.
      _ = write(.told(work.ended, erased: work.erased))
    }
    let (numbers, ends) = try directory.ends()
    // Until it is done the directory says it again.
    guard !numbers.isEmpty, write(.endGuests(ends)) != nil else { return false }
    try directory.dropEnds(numbers)
    return !ends.users.isEmpty
  }

  /// Removes expired passes, and claims of more than an hour without an account.
  func tidy() throws {
    try directory.dropExpiredPasses()
    try directory.settleClaims { user in try database.read { try $0.hasAccount(user) } }
  }
}
