import HoldfastCore
import HoldfastService
import HoldfastSystem

/// How far devices are behind, and how far back that holds the purge, for `GET /metrics`.
struct DeviceFigures: Sendable {
  /// The number of devices by their unacked changes. `expired` ones were silent for longer than retention waits.
  let byLag: [(lag: String, count: Int)]
  /// The greatest number of unacked changes of a device that counts.
  let greatestLag: Int64
  /// When the longest silent device with unacked changes was last seen, in seconds since 1970; now if there is none.
  let horizon: Double

  /// - Parameters:
  ///   - now: milliseconds since 1970.
  ///   - life: how long a silent device counts.
  init(_ devices: [DeviceLag], now: Int64, life: Duration) {
    let expiry = now.subtractingReportingOverflow(life.wholeMilliseconds).partialValue
    let live = devices.filter { $0.seenAt >= expiry }
    func count(_ range: ClosedRange<Int64>) -> Int { live.count { range.contains($0.changes) } }
    byLag = [
      ("0", count(0...0)), ("1-99", count(1...99)), ("100-9999", count(100...9999)),
      ("10000+", count(10_000...Int64.max)), ("expired", devices.count - live.count),
    ]
    greatestLag = live.map(\.changes).max() ?? 0
    horizon = Double(live.filter { $0.changes > 0 }.map(\.seenAt).min() ?? now) / 1000
  }
}

/// The figures of devices, kept for a minute, or for twenty times as long as it took to count them: they never take more than a twentieth of
/// the time (I11).
final class KeptDeviceFigures: Sendable {
  private struct Kept {
    var figures: DeviceFigures?
    var until: ContinuousClock.Instant
  }

  private let kept = Locked<Kept?>(nil)
  private let count: @Sendable () throws -> DeviceFigures

  init(_ count: @escaping @Sendable () throws -> DeviceFigures) { self.count = count }

  /// The figures; nil if the database could not be asked. One thread asks at a time, and others wait.
  func figures(at now: ContinuousClock.Instant = .now) -> DeviceFigures? {
    kept.withLock { kept in
      if let kept, now < kept.until { return kept.figures }
      let start = ContinuousClock.now
      let figures = try? count()
      let pause = max(.seconds(60), start.duration(to: .now) * 20)
      kept = Kept(figures: figures, until: now + pause)
      return figures
    }
  }
}
