/// The counters of one server, for the console.
struct MetricsSummary: Sendable {
  /// In the order of the requests.
  let requests: [(request: Metrics.Request, histogram: Histogram)]
  /// Answers that are problem documents, by code.
  let problems: [(code: String, count: Int)]
  let fastCommits: Histogram
  let slowCommits: Histogram
  /// Change sets.
  let applied: Int
  /// Refused change sets, by problem code.
  let refused: [(code: String, count: Int)]
  let conflicts: Int
  /// Retention passes that ended without an error, and when the last one did, in seconds since 1970.
  let purgePasses: Int
  let lastPurgePass: Double
}
