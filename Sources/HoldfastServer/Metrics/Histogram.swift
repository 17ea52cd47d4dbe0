/// A distribution of observed values in fixed buckets, as Prometheus defines it.
///
/// Source: Prometheus, "Metric types", section Histogram.
struct Histogram: Sendable {
  /// Bounds for durations of requests and commits, in seconds.
  static let seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
  /// Bounds for sizes of batches.
  static let sizes: [Double] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]

  /// The inclusive upper bounds of the buckets, ascending. Values above the last bound count only in `count`.
  let bounds: [Double]
  /// The number of values in each bucket, not cumulative.
  private(set) var counts: [Int]
  private(set) var count = 0
  private(set) var sum = 0.0

  /// An empty histogram.
  init(_ bounds: [Double]) {
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count)
  }

  /// Adds a value.
  mutating func observe(_ value: Double) {
    if let bucket = bounds.firstIndex(where: { value <= $0 }) { counts[bucket] += 1 }
    count += 1
    sum += value
  }

  /// Adds the values of a histogram with the same bounds.
  mutating func add(_ other: Histogram) {
    counts = zip(counts, other.counts).map { $0 + $1 }
    count += other.count
    sum += other.sum
  }

  /// The values that were added since an earlier state of this histogram.
  func since(_ earlier: Histogram) -> Histogram {
    var rest = self
    rest.counts = zip(counts, earlier.counts).map { $0 - $1 }
    rest.count -= earlier.count
    rest.sum = max(sum - earlier.sum, 0)
    return rest
  }

  /// The least bound that a share of the values does not exceed; nil if that is beyond the last bound, or there are no values.
  func bound(of share: Double) -> Double? {
    var sum = 0
    for (bound, count) in zip(bounds, counts) {
      sum += count
      if sum > 0, Double(sum) >= share * Double(self.count) { return bound }
    }
    return nil
  }
}

extension Duration {
  /// The duration in seconds.
  var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }
}
