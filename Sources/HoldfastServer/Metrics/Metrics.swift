import HoldfastCore
import HoldfastService
import HoldfastSystem

/// The counters and histograms of one server, for `GET /metrics`. Callable from any thread.
///
/// Each label has a bounded number of values: route templates, methods, status codes, problem codes. Names of users, zones and records never
/// occur, so the text stays small and holds nothing of a user (I11). docs/METRICS.md has the table.
final class Metrics: Sendable {
  /// What a request is counted under.
  struct Request: Hashable, Comparable {
    /// The template of its path, such as `/v1/tables/{table}`.
    let route: String
    let method: String
    let status: Int

    static func < (left: Request, right: Request) -> Bool {
      (left.route, left.method, left.status) < (right.route, right.method, right.status)
    }
  }

  private struct Counts {
    var requests: [Request: Histogram] = [:]
    var problems: TextMap<Int> = [:]
    var commits: [Bool: Histogram] = [:]
    var commitSizes = Histogram(Histogram.sizes)
    var tally = Tally()
    var purgePasses = 0
    var lastPurgePass = 0.0
  }

  /// The methods that are counted by name; others are `other`.
  private static let methods: TextSet = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

  /// The label of a method.
  static func method(_ name: String) -> String { methods.contains(name) ? name : "other" }

  private let counts = Locked(Counts())

  /// Counts an answered request.
  ///
  /// - Parameter problem: the code of the problem document, if the answer is one.
  func answered(_ request: Request, seconds: Double, problem: String?) {
    counts.withLock {
      $0.requests[request, default: Histogram(Histogram.seconds)].observe(seconds)
      if let problem { $0.problems[problem, default: 0] += 1 }
    }
  }

  /// Counts a transaction of the writer.
  ///
  /// - Parameters:
  ///   - commands: how many commands it included.
  ///   - isSlow: whether the slow lane ran it.
  func committed(_ tally: Tally, commands: Int, seconds: Double, isSlow: Bool) {
    counts.withLock {
      $0.commits[isSlow, default: Histogram(Histogram.seconds)].observe(seconds)
      $0.commitSizes.observe(Double(commands))
      $0.tally.add(tally)
    }
  }

  /// Counts a retention pass that ended without an error.
  ///
  /// - Parameter now: seconds since 1970.
  func purged(now: Double) {
    counts.withLock {
      $0.purgePasses += 1
      $0.lastPurgePass = now
    }
  }

  /// The counters, for the console.
  var summary: MetricsSummary {
    let counts = counts.withLock { $0 }
    return MetricsSummary(
      requests: counts.requests.sorted { $0.key < $1.key }.map { ($0.key, $0.value) },
      problems: counts.problems.sorted { $0.key < $1.key }.map { ($0.key, $0.value) },
      fastCommits: counts.commits[false] ?? Histogram(Histogram.seconds),
      slowCommits: counts.commits[true] ?? Histogram(Histogram.seconds), applied: counts.tally.applied,
      refused: counts.tally.refused.map { ($0.key.rawValue, $0.value) }.sorted { $0.0 < $1.0 },
      conflicts: counts.tally.conflicts, purgePasses: counts.purgePasses,
      lastPurgePass: counts.lastPurgePass)
  }

  /// The exposition text: the counters, then the gauges of this moment.
  func text(_ gauges: Gauges) -> String {
    let counts = counts.withLock { $0 }
    var text = PrometheusText()
    text.add(
      "holdfast_build_info", "gauge", "The version of the server, as a label.",
      [([("version", Release.version)], 1)])
    add(counts, to: &text)
    text.add(
      "holdfast_queue_jobs", "gauge", "Jobs that wait in each queue.",
      gauges.queues.map { ([("queue", $0.name)], Double($0.count)) })
    text.add("holdfast_connections", "gauge", "Open connections.", [([], Double(gauges.connections))])
    text.add("holdfast_event_streams", "gauge", "Open event streams.", [([], Double(gauges.streams))])
    if let bytes = gauges.snapshotBytes {
      text.add("holdfast_snapshot_bytes", "gauge", "Size of the cached snapshots.", [([], Double(bytes))])
    }
    text.add(
      "holdfast_log_lines_dropped_total", "counter", "Log lines that were dropped, as nobody read the log.",
      [([], Double(gauges.droppedLogLines))])
    if let devices = gauges.devices { Self.add(devices, to: &text) }
    if let process = ProcessFigures() { Self.add(process, to: &text) }
    return text.text
  }

  private static func add(_ devices: DeviceFigures, to text: inout PrometheusText) {
    text.add(
      "holdfast_devices", "gauge", "Devices by the number of changes that they have not acked.",
      devices.byLag.map { ([("lag", $0.lag)], Double($0.count)) })
    text.add(
      "holdfast_feed_lag_changes", "gauge", "Greatest number of changes that a device has not acked.",
      [([], Double(devices.greatestLag))])
    text.add(
      "holdfast_purge_horizon_timestamp_seconds", "gauge",
      "When the longest silent device with changes to come was last seen; tombstones since then are kept.",
      [([], devices.horizon)])
  }

  private static func add(_ process: ProcessFigures, to text: inout PrometheusText) {
    text.add(
      "process_resident_memory_bytes", "gauge", "Resident memory of the process.",
      [([], process.residentBytes)])
    text.add(
      "process_cpu_seconds_total", "counter", "Processor time of the process.", [([], process.cpuSeconds)])
    text.add("process_open_fds", "gauge", "Open file descriptors.", [([], process.openFiles)])
    text.add(
      "process_max_fds", "gauge", "Maximum number of open file descriptors.", [([], process.fileLimit)])
    text.add(
      "process_start_time_seconds", "gauge", "Start of the process, in seconds since 1970.",
      [([], process.startSeconds)])
  }

  private static func samples(_ counts: TextMap<Int>, _ label: String) -> [(
    labels: [PrometheusText.Label], value: Double
  )] {
    counts.sorted { $0.key < $1.key }.map { ([(label, $0.key)], Double($0.value)) }
  }

  private func add(_ counts: Counts, to text: inout PrometheusText) {
    text.add(
      "holdfast_request_seconds", "Time from the head of a request to its answer.",
      counts.requests.sorted { $0.key < $1.key }.map { request, histogram in
        (
          [("route", request.route), ("method", request.method), ("status", String(request.status))],
          histogram
        )
      })
    text.add(
      "holdfast_problems_total", "counter", "Answers that are problem documents, by their code.",
      Self.samples(counts.problems, "problem"))
    text.add(
      "holdfast_commit_seconds", "Duration of write transactions.",
      [false, true].map { isSlow in
        ([("lane", isSlow ? "slow" : "fast")], counts.commits[isSlow] ?? Histogram(Histogram.seconds))
      })
    text.add("holdfast_commit_commands", "Commands in a write transaction.", [([], counts.commitSizes)])
    text.add(
      "holdfast_change_sets_total", "counter", "Change sets of devices and REST, by their result.",
      [
        ([("result", "applied")], Double(counts.tally.applied)),
        ([("result", "refused")], Double(counts.tally.refused.values.reduce(0, +))),
      ])
    text.add(
      "holdfast_refusals_total", "counter", "Refused change sets, by problem code.",
      Self.samples(TextMap(counts.tally.refused.map { ($0.key.rawValue, $0.value) }), "problem"))
    text.add(
      "holdfast_conflicts_total", "counter", "Conflicts written to the conflict log.",
      [([], Double(counts.tally.conflicts))])
    text.add(
      "holdfast_retention_passes_total", "counter", "Retention passes that ended without an error.",
      [([], Double(counts.purgePasses))])
    text.add(
      "holdfast_retention_last_pass_timestamp_seconds", "gauge", "When the last one ended; 0 before it.",
      [([], counts.lastPurgePass)])
  }
}
