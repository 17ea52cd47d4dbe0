import Foundation
import HoldfastCore

/// Timing for the benchmarks: medians of several runs, and ratios to a limit measured in the same run.
struct Measurement {
  /// The result of a benchmark: a rate, the limit to compare it with, and the floor of their ratio.
  struct Result {
    let name: String
    let rate: Double
    let limitName: String
    let limit: Double
    /// The minimum ratio.
    let floor: Double?
    /// The minimum rate.
    var least: Double?
    /// The maximum value.
    var most: Double?
    /// The unit of `rate` and `limit`.
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

    var json: JSONValue {
      .object([
        .init("name", .string(name)), .init("value", .real(rate)), .init("unit", .string(unit)),
        .init("limit", .string(limitName)), .init("limit_value", .real(limit)),
        .init("missed", .bool(isMissed)),
      ])
    }

    private static func number(_ value: Double) -> String { String(Int(value.rounded())) }
  }

  /// The duration of one run in seconds.
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
