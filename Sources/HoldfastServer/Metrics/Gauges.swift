/// The state of a server at one moment, for `GET /metrics`.
struct Gauges {
  /// The number of waiting jobs of each queue.
  let queues: [(name: String, count: Int)]
  let connections: Int
  let streams: Int
  /// The size of the cached snapshots; nil without a cache.
  let snapshotBytes: Int64?
  /// Nil if the database could not be asked.
  let devices: DeviceFigures?
  /// Log lines dropped since the start because nobody read the log.
  let droppedLogLines: Int64
}
