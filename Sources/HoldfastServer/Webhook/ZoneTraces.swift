import HoldfastCore

/// The traces in which zones were last written, until the webhook's program is notified of them.
struct ZoneTraces {
  /// The greatest number of zones; beyond it all are forgotten.
  static let limit = 10_000

  private var traces: TextMap<TraceContext> = [:]

  /// Notes in which trace a zone was written; nil for none.
  mutating func note(_ trace: TraceContext?, of zone: String) {
    if traces.count >= Self.limit, traces[zone] == nil { traces = [:] }
    traces[zone] = trace
  }

  /// The one trace in which all of these zones were last written; nil if there are several, or one was written in none.
  func common(to zones: [String]) -> TraceContext? {
    let found = Set(zones.map { traces[$0] })
    return found.count == 1 ? found.first ?? nil : nil
  }

  /// Forgets zones of which the program was notified, but for those that were written in another trace since.
  mutating func notified(_ zones: [String], in trace: TraceContext?) {
    for zone in zones where traces[zone] == trace { traces[zone] = nil }
  }
}

/// The traces of the writes of one commit.
struct CommitTraces {
  private var ofDevices: [Int64: TraceContext?] = [:]
  private var all: Set<TraceContext?> = []

  init(_ writes: some Sequence<(device: Int64?, trace: TraceContext?)>) {
    for write in writes {
      all.insert(write.trace)
      if let device = write.device { ofDevices[device] = write.trace }
    }
  }

  /// The trace of a zone's changes: that of the device that made all of them, else the one trace of all writes of the commit.
  func trace(ofDevice device: Int64?) -> TraceContext? {
    if let device, let trace = ofDevices[device] { return trace }
    return all.count == 1 ? all.first ?? nil : nil
  }
}
