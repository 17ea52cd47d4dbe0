import HoldfastConcurrency

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
  private let state: Locked<State>

  /// - Parameters:
  ///   - stored: what the database keeps; nil for nothing.
  ///   - last: the latest time that is in the database, which stands in for it.
  package init(stored: TrustedTime?, last: Int64, _ environment: ServerEnvironment) {
    self.environment = environment
    let now = environment.now()
    state = Locked(
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
