import HoldfastSystem

/// The clock for ages of data. It does not follow a jump ahead: it continues by measured time until the wall clock has proved right. Every
/// deletion by age uses it. All nodes of a cluster share its one stored row.
package final class TrustedClock: Sendable {
  /// In milliseconds. A wall clock that is ahead by at most this is trusted.
  static let day: Int64 = 86_400_000
  /// How long a clock that is ahead must run steadily before it is trusted.
  static let proof = 7 * day

  private struct State {
    var time: TrustedTime
    /// The measured time at which `time` was set.
    var measured: Int64
    /// The latest time that the wall clock has shown since.
    var latest: Int64
  }

  private let environment: ServerEnvironment
  private let state: Locked<State>

  /// - Parameters:
  ///   - stored: the stored trusted time, if any.
  ///   - last: the latest time in the database, used if no trusted time is stored.
  package init(stored: TrustedTime?, last: Int64, _ environment: ServerEnvironment) {
    self.environment = environment
    let now = environment.now()
    state = Locked(
      State(
        time: stored ?? TrustedTime(time: last > 0 ? last : now), measured: environment.measured(),
        latest: now))
  }

  /// The time by which ages are computed.
  package func now() -> Int64 {
    let (shown, measured) = (environment.now(), environment.measured())
    return state.withLock { state in
      state.latest = max(state.latest, shown)
      let expected = state.time.time + measured - state.measured
      return shown - expected > Self.day ? expected : shown
    }
  }

  /// The timestamp for current events: the wall clock, but at least the measured time. A clock that was set back may be corrected again;
  /// events in between must not look old then.
  package func written() -> Int64 {
    let (shown, measured) = (environment.now(), environment.measured())
    return state.withLock { max(shown, $0.time.time + measured - $0.measured) }
  }

  /// Advances the trusted time, in a transaction that has locked its row.
  ///
  /// - Parameters:
  ///   - stored: the row, which another node may have written.
  ///   - trusts: whether an operator has confirmed that the clock is right.
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
        // The distance changed: the clock has jumped again.
        if let known, abs(ahead - known.ahead) <= Self.day { doubt = known }
        if expected - doubt.since < Self.proof { time = TrustedTime(time: expected, doubt: doubt) }
      }
      state = State(time: time, measured: measured, latest: shown)
      return TimeStep(time: time, wentBack: latest - shown > Self.day)
    }
  }
}
