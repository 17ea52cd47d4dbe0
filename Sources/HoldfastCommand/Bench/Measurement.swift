import Foundation

/// Timing for the benchmarks: the median of several runs, and ratios against a limit measured in the same run.
struct Measurement {
  /// What a benchmark gives: a rate, the limit it is held against, and the floor of their ratio.
  struct Result {
    let name: String
    let rate: Double
    let limitName: String
    let limit: Double
    /// The least ratio.
    let floor: Double?
    /// The least rate.
    var least: Double?
    /// The greatest value.
    var most: Double?
    /// What `rate` and `limit` are given in.
    var unit = "/s"

    var isMissed: Bool { rate / limit < floor ?? 0 || rate < least ?? 0 || rate > most ?? .infinity }

    var line: String {
      let ratio = rate / limit
      let bound =
        floor.map { "floor \($0)" } ?? least.map { "floor \(Self.number($0))\(unit)" }
        ?? most.map { "at most \(Self.number($0))\(unit)" }
      let verdict = bound.map { $0 + (isMissed ? ": MISSED" : ": kept") } ?? ""
      return [
        name.padding(toLength: 44, withPad: " ", startingAt: 0), Self.number(rate).leftPadded(10),
        "\(unit)   \(limitName): ".padding(toLength: 34, withPad: " ", startingAt: 0),
        Self.number(limit).leftPadded(10),
        "\(unit)   ratio \(String(format: "%.2f", ratio))  \(verdict)",
      ].joined()
    }

    private static func number(_ value: Double) -> String { String(Int(value.rounded())) }
  }

  /// Seconds of one run.
  static func seconds(_ body: () async throws -> Void) async rethrows -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    try await body()
    let (seconds, attoseconds) = (clock.now - start).components
    return Double(seconds) + Double(attoseconds) / 1e18
  }

  /// The same of what has nothing to wait for.
  static func synchronousSeconds(_ body: () throws -> Void) rethrows -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    try body()
    let (seconds, attoseconds) = (clock.now - start).components
    return Double(seconds) + Double(attoseconds) / 1e18
  }

  static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
}

extension String {
  func leftPadded(_ width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}
