import HoldfastConcurrency
import HoldfastHTTP
import HoldfastService

/// The thread that runs retention passes; docs/RETENTION.md, section 2.
///
/// @unchecked Sendable: `isDue` is accessed only with the lock held.
final class RetentionThread: @unchecked Sendable {
  /// The time before the first pass, and between two passes.
  private static let (first, interval) = (Duration.seconds(60), Duration.seconds(300))

  private let thread = BackgroundThread()
  /// Whether the next pass begins immediately.
  private var isDue = false

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - snapshots: those of this server.
  ///   - write: has the writer do a command, and waits for it; nil when it could not be done.
  ///   - warn: is told that the clock is not believed.
  ///   - passed: called after each pass that ended without an error.
  ///   - log: takes what a pass has purged, and why one failed.
  init(
    _ database: any ServerDatabase, _ retention: Retention, _ snapshots: Snapshots?,
    write: @escaping @Sendable (ServiceCommand) -> Outcome?, warn: @escaping @Sendable (String) -> Void,
    passed: @escaping @Sendable () -> Void, log: @escaping @Sendable (String) -> Void
  ) throws(ServerError) {
    try thread.start { [unowned self] in
      var wait = Self.first
      var doubt: TrustedTime.Doubt?
      while thread.sleep(wait, unless: { takeDue() }) {
        do {
          try database.inTurn {
            guard case .time(let step)? = write(.keepTime(isTrusted: false)) else { return }
            if let warning = step.warning, step.time.doubt != doubt { warn(warning) }
            doubt = step.time.doubt
            let terms = RetentionTerms(retention, in: database.history, at: step.time)
            _ = try pass(database, terms, write).run()
          }
          try snapshots?.removeErased()
          passed()
        } catch is Stopped {
        } catch { log("What could be purged is kept for now: \(error)") }
        wait = Self.interval
      }
    }
  }

  /// Begins the next pass immediately.
  func wake() {
    thread.lock.hold {
      isDue = true
      thread.lock.broadcast()
    }
  }

  /// Begins no other command.
  func end() { thread.end() }

  /// Stops the thread after the current command. Call it once.
  func stop() { thread.stop() }

  private struct Stopped: Error {}

  private func pass(
    _ database: any ServerDatabase, _ terms: RetentionTerms, _ write: @escaping (ServiceCommand) -> Outcome?
  ) -> RetentionPass {
    RetentionPass(
      find: { kind, place in
        try database.read { try $0.found(kind, after: place, terms, in: database.schema) }
      },
      purge: { item in
        if case .purged(let purged)? = write(.purge(item, terms)) { return purged }
        return nil
      },
      pause: { [self] in if !thread.sleep($0) { throw Stopped() } })
  }

  /// Takes what `wake` asked for; the thread calls it with the lock held.
  private func takeDue() -> Bool {
    defer { isDue = false }
    return isDue
  }
}
