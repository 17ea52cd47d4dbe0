import Synchronization

/// The time by which ages are judged, as the database keeps it: docs/RETENTION.md, section 7. In milliseconds since 1970.
package struct TrustedTime: Sendable, Equatable {
  /// A clock that is ahead of what is trusted.
  package struct Doubt: Sendable, Equatable {
    /// Since when, as it is trusted.
    package let since: Int64
    /// By how much, when it was noticed.
    package let ahead: Int64
  }

  package let time: Int64
  package var doubt: Doubt?

  /// What the clock showed when this was written.
  package var shown: Int64 { time + (doubt?.ahead ?? 0) }

  /// As it is stored.
  package var text: String {
    [time, doubt?.since, doubt?.ahead].compactMap { $0.map(String.init) }.joined(separator: " ")
  }

  package init(time: Int64, doubt: Doubt? = nil) { (self.time, self.doubt) = (time, doubt) }

  /// Of its text; nil when that is none.
  package init?(_ text: String) {
    let numbers = text.split(separator: " ").map { Int64($0) }
    guard let first = numbers.first, let time = first else { return nil }
    self.time = time
    if numbers.count == 3, let since = numbers[1], let ahead = numbers[2] {
      doubt = Doubt(since: since, ahead: ahead)
    }
  }
}

/// What became of the trusted time.
package struct TimeStep: Sendable, Equatable {
  package let time: TrustedTime
  /// Whether the clock was set back by more than a day, so that what was written since lies in the future.
  package let wentBack: Bool

  package init(time: TrustedTime, wentBack: Bool) {
    (self.time, self.wentBack) = (time, wentBack)
  }

  /// What an operator is told of a clock that is ahead; nil when it is not.
  package var warning: String? {
    guard let doubt = time.doubt else { return nil }
    let days = doubt.ahead / TrustedClock.day
    return """
      The clock is \(days) days ahead of the time that servers have measured. Nothing is purged by it until it has run steadily for 7 days. \
      If it is right, as after a long stop, say so: holdfast purge --trust-clock. If it is wrong, set it.
      """
  }
}

/// The clock by which ages are judged. One that jumps ahead is not believed: time goes on as it is measured, until the clock has proved right. Every
/// deletion by age asks here; all nodes of a cluster go by the one row that is kept of it.
package final class TrustedClock: Sendable {
  /// In milliseconds. A clock that is not more ahead is believed.
  static let day: Int64 = 86_400_000
  /// For how long a clock that is ahead has to run steadily.
  static let proof = 7 * day

  private struct State {
    var time: TrustedTime
    /// When that was.
    var measured: Int64
    /// The latest that the clock has shown since.
    var latest: Int64
  }

  private let environment: ServerEnvironment
  private let state: Mutex<State>

  /// - Parameters:
  ///   - stored: what the database keeps; nil for nothing.
  ///   - last: the latest time that is in the database, which stands in for it.
  package init(stored: TrustedTime?, last: Int64, _ environment: ServerEnvironment) {
    self.environment = environment
    let now = environment.now()
    state = Mutex(
      State(
        time: stored ?? TrustedTime(time: last > 0 ? last : now), measured: environment.measured(),
        latest: now))
  }

  /// The time by which ages are judged.
  package func now() -> Int64 {
    let (shown, measured) = (environment.now(), environment.measured())
    return state.withLock { state in
      state.latest = max(state.latest, shown)
      let expected = state.time.time + measured - state.measured
      return shown - expected > Self.day ? expected : shown
    }
  }

  /// The time that is written of what happens now: what the clock shows, but never less than was measured, as a clock that was set back may be set
  /// right again, and what was written meanwhile must not be old by it.
  package func written() -> Int64 {
    let (shown, measured) = (environment.now(), environment.measured())
    return state.withLock { max(shown, $0.time.time + measured - $0.measured) }
  }

  /// Goes on with the time; in a transaction, which has the row of it.
  ///
  /// - Parameters:
  ///   - stored: the row, which another node may have written.
  ///   - trusts: whether an operator says that the clock is right.
  package func step(_ stored: TrustedTime?, trusts: Bool) -> TimeStep {
    let (shown, measured) = (environment.now(), environment.measured())
    return state.withLock { state in
      let expected = max(state.time.time + measured - state.measured, stored?.time ?? .min)
      let ahead = shown - expected
      let latest = max(state.latest, stored?.shown ?? .min)
      let known = stored?.doubt
      var time = TrustedTime(time: shown)
      if ahead > Self.day, !trusts {
        var doubt = TrustedTime.Doubt(since: expected, ahead: ahead)
        // Further away, or nearer: it has jumped again.
        if let known, abs(ahead - known.ahead) <= Self.day { doubt = known }
        if expected - doubt.since < Self.proof { time = TrustedTime(time: expected, doubt: doubt) }
      }
      state = State(time: time, measured: measured, latest: shown)
      return TimeStep(time: time, wentBack: latest - shown > Self.day)
    }
  }
}
