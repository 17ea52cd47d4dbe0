import HoldfastCore
import HoldfastService

/// The state of this node at one moment.
struct ConsoleServer: Sendable {
  let metrics: MetricsSummary
  /// The number of waiting jobs of each queue.
  let queues: [(name: String, count: Int)]
  let streams: Int
  /// The size of the cached snapshots in bytes.
  let snapshotBytes: Int64
  let droppedLogLines: Int64

  /// The content of `GET /console/api/server`.
  func json(_ database: any ServerDatabase, _ disk: DiskFigures?, at now: Int64) -> JSONValue {
    let history = database.known.now
    return [
      "version": .string(Release.version), "now": .time(now),
      "engine": .string(database.readerCount == nil ? "SQLite" : "PostgreSQL"),
      "schema": ["name": .string(database.schema.name), "version": .integer(Int64(database.schema.version))],
      "epoch": .string(history.epoch),
      "process": ProcessFigures().map { process in
        [
          "started": .time(Int64(process.startSeconds * 1000)),
          "uptime_seconds": .integer(max(0, now / 1000 - Int64(process.startSeconds))),
          "resident_bytes": .integer(Int64(process.residentBytes)), "cpu_seconds": .real(process.cpuSeconds),
          "open_files": .integer(Int64(process.openFiles)),
        ]
      } ?? .null,
      "disk": disk?.json ?? .null,
      "queues": .array(
        queues.map { ["queue": .string($0.name), "waiting": .integer(Int64($0.count))] }),
      "event_streams": .integer(Int64(streams)), "snapshot_bytes": .integer(snapshotBytes),
      "dropped_log_lines": .integer(droppedLogLines),
      "requests": requests, "commits": commits, "change_sets": changeSets,
    ]
  }

  private var requests: JSONValue {
    [
      "count": .integer(Int64(metrics.requests.reduce(0) { $0 + $1.histogram.count })),
      "failures": .integer(
        Int64(metrics.requests.reduce(0) { $0 + ($1.request.status >= 500 ? $1.histogram.count : 0) })),
      "routes": .array(
        metrics.requests.map { line in
          [
            "route": .string(line.request.route), "method": .string(line.request.method),
            "status": .integer(Int64(line.request.status)), "latency": Self.json(line.histogram),
          ]
        }),
      "problems": .array(metrics.problems.map { Self.count("problem", $0.code, $0.count) }),
    ]
  }

  private var commits: JSONValue {
    ["fast": Self.json(metrics.fastCommits), "slow": Self.json(metrics.slowCommits)]
  }

  private var changeSets: JSONValue {
    [
      "applied": .integer(Int64(metrics.applied)), "conflicts": .integer(Int64(metrics.conflicts)),
      "refused": .array(metrics.refused.map { Self.count("problem", $0.code, $0.count) }),
    ]
  }

  private static func count(_ name: String, _ value: String, _ count: Int) -> JSONValue {
    .object([.init(name, .string(value)), .init("count", .integer(Int64(count)))])
  }

  /// How many there were, their mean, and a bound that 99 of 100 do not exceed; null where it is beyond the last bucket.
  private static func json(_ histogram: Histogram) -> JSONValue {
    let mean = histogram.count == 0 ? 0 : histogram.sum / Double(histogram.count)
    return [
      "count": .integer(Int64(histogram.count)), "mean_ms": .real(mean * 1000),
      "p99_ms": histogram.bound(of: 0.99).map { .real($0 * 1000) } ?? .null,
    ]
  }
}
