import HoldfastCore
import HoldfastService

/// How many devices are behind: of all of them, a part at each look.
struct DeviceLagCount {
  /// The devices, and their acks, of one look.
  private static let (deviceLimit, ackLimit) = (2000, 20_000)

  /// The device after which the next look begins.
  private var place: Int64 = 0
  private var open = (devices: 0, behind: 0)
  private var done: (devices: Int, behind: Int)?

  /// Whether there is a count.
  var hasBegun: Bool { done != nil }
  /// The counts of the last time that all devices were looked at; before that, of those so far.
  var counts: (devices: Int, behind: Int) { done ?? open }

  /// Looks at the next devices.
  mutating func look(_ answers: ConsoleAnswers) throws {
    let devices = try answers.devices(.devices(after: place, limit: Self.deviceLimit))
    let live = devices.filter { $0.session == .signedIn && $0.seenAt > answers.liveAfter }
    let acks = try answers.reader.rows(.acks(live.map(\.number), limit: Self.ackLimit + 1)).map {
      ConsoleAck($0)
    }
    let zones = try answers.zones(named: acks.map(\.zone))
    let behind = acks.filter { ack in
      zones[ack.zone].map { ZoneLag($0, ack, role: "", epoch: answers.epoch).state != .current } ?? false
    }
    // The last device may have acks beyond the limit. The next look begins with it, unless it is the only one.
    let isCut = acks.count > Self.ackLimit
    let first = acks.first?.device ?? 0
    let last = isCut ? max((acks.last?.device ?? 0) - 1, first) : devices.last?.number ?? 0
    open.devices += live.count { $0.number <= last }
    open.behind += Set(behind.map(\.device)).count { $0 <= last }
    if isCut || devices.count == Self.deviceLimit {
      place = last
    } else {
      (done, open, place) = (open, (0, 0), 0)
    }
  }
}

extension ConsoleAnswers {
  /// A period that charts show.
  enum Range: String, CaseIterable {
    case hour, day, month

    /// The length, and that of a point, in seconds. The samples of a node are at least as dense.
    ///
    /// - Parameter isOwn: whether the node is this one, which has samples of less than a minute.
    func length(isOwn: Bool) -> (whole: Int64, step: Int64) {
      switch self {
      case .hour: (3600, isOwn ? 30 : StoredSample.Span.minute.rawValue)
      case .day: (86_400, 600)
      case .month: (31 * 86_400, 21_600)
      }
    }
  }

  /// The nodes that are offered.
  private static let nodeLimit = 50

  private func samples(
    of node: String, _ span: StoredSample.Span, from: Int64
  ) throws -> [SampleRing.Timed] {
    let limit = Int(span.life / span.rawValue) + 2
    return try reader.rows(.samples(node: node, span, from: from, limit: limit)).map {
      ($0.integer(0), Sample(content: $0[1] ?? ""))
    }
  }

  /// The complete hours that are not stored, made of the stored minutes.
  ///
  /// - Parameter hour: the one that is not complete.
  func hours(of node: String, before hour: Int64, at now: Int64) throws -> [SampleRing.Timed] {
    let from = hour - StoredSample.Span.minute.life + StoredSample.Span.hour.rawValue
    let known = Set(try samples(of: node, .hour, from: from).map(\.at))
    let minutes = try samples(of: node, .minute, from: from).filter { $0.at < hour }
    return Self.merged(minutes, by: StoredSample.Span.hour.rawValue).filter { !known.contains($0.at) }
  }

  /// `GET charts`: the figures of a node over time.
  ///
  /// - Parameter ring: what this node has not stored; nil for another node.
  func charts(_ range: Range, of node: String, _ ring: SampleRing?) throws -> JSONValue {
    let (whole, step) = range.length(isOwn: ring != nil)
    let end = (now / 1000 / step + 1) * step
    let from = end - whole
    var samples: [SampleRing.Timed]
    switch (range, ring) {
    case (.hour, let ring?): samples = ring.recent.filter { $0.at >= from }
    case (.month, _):
      samples = try self.samples(of: node, .hour, from: from)
      let last = samples.last.map { $0.at + StoredSample.Span.hour.rawValue } ?? from
      samples += try self.samples(of: node, .minute, from: last)
    default: samples = try self.samples(of: node, .minute, from: from)
    }
    if range != .hour, let ring {
      let known = Set(samples.map(\.at))
      samples += ring.unwritten.filter { $0.at >= from && !known.contains($0.at) }
    }
    let nodes = TextSet(try reader.rows(.sampledNodes(limit: Self.nodeLimit)).map { $0[0] ?? "" } + [node])
    return [
      "range": .string(range.rawValue), "node": .string(node),
      "nodes": .array(nodes.sorted().map { .string($0) }),
      "from": .integer(from), "to": .integer(end), "step": .integer(step),
      "fields": .array(Sample.Field.allCases.map { .string($0.rawValue) }),
      "points": .array(
        Self.merged(samples, by: step).filter { $0.at >= from && $0.at < end }.map { point in
          .array([.integer(point.at)] + point.sample.values.map { .real($0) })
        }),
    ]
  }

  /// Samples of longer periods, by time.
  private static func merged(_ samples: [SampleRing.Timed], by step: Int64) -> [SampleRing.Timed] {
    var sums: [Int64: Sample] = [:]
    for (at, sample) in samples { sums[at - at % step, default: Sample()].add(sample) }
    return sums.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// `GET audit` and `GET backups`: the actions of operators, the newest first.
  ///
  /// - Parameter action: the begin of the actions' names.
  func audit(_ action: String, before: String?) throws -> JSONValue {
    let (rows, next) = try page(.audit(before: before, action: action, limit: Self.limit)) { $0[0] }
    return Self.page(
      "entries",
      rows.map { row in
        [
          "at": .time(row.integer(1)), "action": .string(row[2] ?? ""), "target": .string(row[3] ?? ""),
          "detail": .string(row[4] ?? ""), "operator": .string(row[5] ?? ""), "node": .string(row[6] ?? ""),
          "address": .string(row[7] ?? ""),
        ]
      }, next: next)
  }
}
