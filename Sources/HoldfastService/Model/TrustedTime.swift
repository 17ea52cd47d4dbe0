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
    let days = doubt.ahead / 86_400_000
    return """
      The clock is \(days) days ahead of the time that servers have measured. Nothing is purged by it until it has run steadily for 7 days. \
      If it is right, as after a long stop, say so: holdfast purge --trust-clock. If it is wrong, set it.
      """
  }
}
