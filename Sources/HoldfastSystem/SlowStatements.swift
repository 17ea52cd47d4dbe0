/// Decides which slow SQL statements are reported, for all connections of a process.
///
/// A text is reported once a minute at most, and at most 64 texts in a minute: the log and the work for plans stay bounded whatever is slow.
package final class SlowStatements: Sendable {
  /// A slow statement. It contains no values: the text has placeholders.
  package struct Report: Sendable {
    /// At most `textLimit` characters.
    package let sql: String
    /// The time from sending or starting it to its last row, including waits for locks.
    package let duration: Duration
    /// The database's plan, a line for each step, at most `planLimit`; empty if there is none.
    package let plan: [String]
    /// How often the same text was slow since its last report, and was not reported.
    package let unreported: Int
  }

  private struct Text {
    var reportedAt: ContinuousClock.Instant
    var unreported = 0
  }

  /// The greatest number of characters of a text in a report.
  package static let textLimit = 2000
  /// The greatest number of lines of a plan in a report, and of characters in a line.
  package static let planLimit = (lines: 40, characters: 200)
  private static let (textsInMinute, pause) = (64, Duration.seconds(60))

  /// How long a statement may take without being slow.
  package let limit: Duration
  private let receive: @Sendable (Report) -> Void
  private let texts = Locked<[Int: Text]>([:])

  package init(over limit: Duration, _ receive: @escaping @Sendable (Report) -> Void) {
    self.limit = limit
    self.receive = receive
  }

  /// Reports a statement, unless its text was reported within the last minute.
  ///
  /// - Parameter plan: asks the database for the plan; called only for a statement that is reported.
  package func report(
    _ sql: String, took duration: Duration, at now: ContinuousClock.Instant = .now, plan: () -> [String]
  ) {
    guard let unreported = admit(sql, now) else { return }
    let lines = plan().prefix(Self.planLimit.lines).map { String($0.prefix(Self.planLimit.characters)) }
    receive(
      Report(
        sql: String(sql.prefix(Self.textLimit)), duration: duration, plan: lines, unreported: unreported))
  }

  /// How often a text was left out since its last report; nil if it is left out now.
  private func admit(_ sql: String, _ now: ContinuousClock.Instant) -> Int? {
    var hasher = Hasher()
    for byte in sql.utf8 { hasher.combine(byte) }
    let key = hasher.finalize()
    return texts.withLock { texts in
      if let known = texts[key], known.reportedAt + Self.pause > now {
        texts[key]?.unreported += 1
        return nil
      }
      if texts[key] == nil, texts.count >= Self.textsInMinute {
        texts = texts.filter { $0.value.reportedAt + Self.pause > now }
        if texts.count >= Self.textsInMinute { return nil }
      }
      let unreported = texts[key]?.unreported ?? 0
      texts[key] = Text(reportedAt: now)
      return unreported
    }
  }
}
