/// The figures of a running server.
extension RequestDispatcher {
  /// The number of waiting jobs of each queue.
  private var queues: [(name: String, count: Int)] {
    var queues = [
      ("writes", writer.waitingCount), ("passwords", passwords.waitingCount),
      ("sign_ups", signUps.waitingCount),
      ("snapshots", builds.waitingCount), ("fetches", fetches.waitingCount),
      ("session_fetches", sessionFetches.waitingCount),
      ("reads", reading.waitingCount), ("long_reads", longReading.waitingCount),
    ]
    if let waiting { queues.append(("slow_writes", waiting.waitingCount)) }
    return queues
  }

  /// The text of `GET /metrics`, where it is served.
  ///
  /// - Parameters:
  ///   - connections: how many connections the server has.
  ///   - codings: how many contents and answers wait to be decoded or compressed.
  func metricsText(connections: Int, codings: Int) -> String {
    metrics?.text(
      Gauges(
        queues: queues + [("codings", codings)], connections: connections, streams: events.openCount,
        snapshotBytes: api.snapshots?.cache.size, devices: deviceFigures.figures(),
        droppedLogLines: LogQueue.standardError.droppedLines))
      ?? ""
  }

  /// The state of this node, for the console.
  var consoleServer: ConsoleServer {
    ConsoleServer(
      metrics: (metrics ?? Metrics()).summary, queues: queues, streams: events.openCount,
      snapshotBytes: api.snapshots?.cache.size ?? 0, droppedLogLines: LogQueue.standardError.droppedLines)
  }
}
