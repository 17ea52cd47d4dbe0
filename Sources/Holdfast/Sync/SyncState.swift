import HoldfastCore

/// What the sync engine is about, for an app to show.
///
/// ```swift
/// for await state in await engine.states {
///   if case .downloading(let done, let total) = state { print("\(done) of \(total)") }
/// }
/// ```
public enum SyncState: Sendable, Hashable {
  /// Everything is sent and everything is here, as of the last answer.
  case idle
  /// Everything is sent and everything is here but these zones, which are resynced later: it was done a moment ago, and comes in steps.
  case waiting([WaitingZone])
  /// Everything else is sent and here, but the server was restored, and does not know yet whether this user may have these zones. Their records stay
  /// readable; edits of them wait in quarantine.
  case awaitingRecovery([ZoneAwaitingRecovery])
  /// Change sets go up: of `total` operations that waited, `done` were confirmed.
  case uploading(done: Int, total: Int)
  /// Changes come down: of about `total`, `done` are here.
  case downloading(done: Int, total: Int)
  /// The server can't be reached, or has no time; another try comes by itself.
  case offline(reason: String)
  /// Nobody is signed in, or the session expired. Nothing is lost; sign in to go on.
  case signedOut
}
