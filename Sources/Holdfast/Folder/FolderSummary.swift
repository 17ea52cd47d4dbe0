/// What one sync of a folder did.
///
/// ```swift
/// let summary = try await engine.sync()
/// print("\(summary.sent) sent, \(summary.received) received, \(summary.failures.count) databases not reached")
/// ```
public struct FolderSummary: Sendable {
  /// Why a database was not synced. Its edits stay, and are sent the next time.
  public struct Failure: Sendable {
    /// The name of the database.
    public let database: String
    /// As `SyncEngine.sync()` throws it.
    public let error: any Error
  }

  /// Operations that the servers have dealt with.
  public internal(set) var sent = 0
  /// Changes that came down.
  public internal(set) var received = 0
  /// Change sets that the servers refused for good, now in quarantine.
  public internal(set) var quarantined = 0
  /// The databases that were not synced.
  public internal(set) var failures: [Failure] = []

  mutating func add(_ database: String, _ result: Result<SyncSummary, any Error>) {
    switch result {
    case .success(let summary):
      sent += summary.sent
      received += summary.received
      quarantined += summary.quarantined
    case .failure(let error): failures.append(Failure(database: database, error: error))
    }
  }
}
