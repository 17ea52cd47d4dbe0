import HoldfastHTTP

/// The thread that makes passes over what may be forgotten, as long as the server runs; docs/FORGETTING.md, section 2.
///
/// @unchecked Sendable: `isStopping` and `isDue` are touched under the lock alone; `thread` by its owner alone.
final class ForgettingThread: @unchecked Sendable {
  /// When the first pass begins, how long after a pass the next, and how long after a command the next at least, in milliseconds.
  private static let (first, pause, breath): (Int64, Int64, Int64) = (60_000, 300_000, 5)

  private let lock = Lock()
  private var isStopping = false
  /// Whether the next pass is not to be waited for.
  private var isDue = false
  private var thread: HoldfastHTTP.Thread?

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - snapshots: those of this server.
  ///   - write: has the writer do a command, and waits for it; nil when it could not be done.
  ///   - log: takes what a pass has forgotten, and why one failed.
  init(
    _ database: any ServerDatabase, _ retention: Retention, _ environment: ServerEnvironment,
    _ snapshots: Snapshots?,
    write: @escaping @Sendable (Command) -> Outcome?, log: @escaping @Sendable (String) -> Void
  ) throws(ServerError) {
    thread = try startThread { [unowned self] in
      var wait = Self.first
      while !sleep(wait, isWoken: true) {
        do {
          let terms = ForgettingTerms(retention, epoch: database.epoch, now: environment.now())
          try database.inTurn {
            _ = try pass(database, terms, write).run()
          }
          try snapshots?.removeErased()
        } catch is Stopped {
        } catch { log("What could be forgotten is kept for now: \(error)") }
        wait = Self.pause
      }
    }
  }

  /// Begins the next pass at once.
  func wake() {
    lock.hold {
      isDue = true
      lock.signal()
    }
  }

  /// Ends the thread, after the command that is done now; once.
  func stop() {
    lock.hold {
      isStopping = true
      lock.signal()
    }
    thread?.join()
    thread = nil
  }

  private struct Stopped: Error {}

  private func pass(
    _ database: any ServerDatabase, _ terms: ForgettingTerms, _ write: @escaping (Command) -> Outcome?
  ) -> ForgettingPass {
    ForgettingPass(
      find: { [self] kind, place in
        if sleep(Self.breath) { throw Stopped() }
        return try database.read { try $0.found(kind, after: place, terms, in: database.schema) }
      },
      forget: { [self] item in
        let start = MonotonicTime.exact
        let outcome = write(.forget(item, terms))
        // Others come first.
        let took = Int64(clamping: MonotonicTime.exact.milliseconds - start.milliseconds)
        if sleep(max(took, Self.breath)) { throw Stopped() }
        if case .forgot(let forgotten)? = outcome { return forgotten }
        return nil
      })
  }

  /// Lets time go by; true when the thread is to end.
  ///
  /// - Parameter isWoken: whether a pass that is due ends it.
  private func sleep(_ milliseconds: Int64, isWoken: Bool = false) -> Bool {
    lock.hold {
      let end = MonotonicTime.exact + .milliseconds(milliseconds)
      while !isStopping, !(isWoken && isDue), MonotonicTime.exact < end { lock.wait(until: end) }
      if isWoken { isDue = false }
      return isStopping
    }
  }
}
