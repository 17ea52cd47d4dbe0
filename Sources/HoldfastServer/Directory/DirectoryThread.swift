import HoldfastConcurrency
import HoldfastCore
import HoldfastService

/// The thread that runs a round for the directory every two seconds.
final class DirectoryThread: Sendable {
  private static let interval = Duration.seconds(2)
  /// The number of rounds after which claims and passes are looked at.
  private static let seldom = 30

  private let thread = BackgroundThread()

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - write: has the writer do a command, and waits for it; nil when it could not be done.
  ///   - erased: called when the erasure of guests has begun.
  ///   - log: takes why a round was cut.
  init(
    _ round: DirectoryRound, write: @escaping @Sendable (ServiceCommand) -> Outcome?,
    erased: @escaping @Sendable () -> Void, log: @escaping @Sendable (String) -> Void
  ) throws(ServerError) {
    try thread.start { [unowned self] in
      var count = 0
      while thread.sleep(Self.interval) {
        do {
          if try round.run(write) { erased() }
          if count % Self.seldom == 0 { try round.tidy() }
        } catch is Problem {
          // A directory that does not answer is in the log already.
        } catch { log("The round for the directory was cut: \(error)") }
        count += 1
      }
    }
  }

  /// Begins no other round.
  func end() { thread.end() }

  /// Stops the thread after the current round. Call it once.
  func stop() { thread.stop() }
}
