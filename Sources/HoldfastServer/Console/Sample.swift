import HoldfastCore
import HoldfastService

/// The figures of one node in one period, for the console's charts.
struct Sample: Sendable, Equatable {
  /// A figure, under the name that it has in the database and in the API.
  enum Field: String, CaseIterable {
    /// Answers by class of status.
    case ok, redirected, refused, failed
    /// The requests other than GET, HEAD and OPTIONS.
    case writing
    /// The time of all requests, and what 95 of 100 do not exceed.
    case requestSeconds = "request_seconds"
    case requestBound = "request_p95"
    case commits
    case commitSeconds = "commit_seconds"
    case commitBound = "commit_p95"
    /// Waiting jobs of all queues.
    case queue
    case streams, memory
    /// Live devices that are signed in, of which the lag was looked up, and those of them that are behind.
    case devices
    case devicesBehind = "devices_behind"
    /// Change sets.
    case applied
    case conflicts, refusals

    /// Whether the figure of a longer period is the greatest one, not the sum.
    var isGauge: Bool {
      switch self {
      case .requestBound, .commitBound, .queue, .streams, .memory, .devices, .devicesBehind: true
      default: false
      }
    }
  }

  private var figures = [Double](repeating: 0, count: Field.allCases.count)

  /// A sample in which nothing happened.
  init() {}

  subscript(field: Field) -> Double {
    get { figures[Self.places[field] ?? 0] }
    set { figures[Self.places[field] ?? 0] = newValue }
  }

  private static let places = Dictionary(
    uniqueKeysWithValues: Field.allCases.enumerated().map { ($0.element, $0.offset) })

  /// Adds the figures of a period beside this one.
  mutating func add(_ other: Sample) {
    for field in Field.allCases {
      self[field] = field.isGauge ? max(self[field], other[field]) : self[field] + other[field]
    }
  }

  /// All figures, in the order of `Field.allCases`.
  var values: [Double] { figures }

  /// What a node did between two moments.
  init(from old: ConsoleServer, to new: ConsoleServer) {
    let (before, after) = (Sums(old.metrics), Sums(new.metrics))
    let requests = after.requests.since(before.requests)
    for (field, place) in [(Field.ok, 2), (.redirected, 3), (.refused, 4), (.failed, 5)] {
      self[field] = Double(after.classes[place] - before.classes[place])
    }
    self[.writing] = Double(after.writing - before.writing)
    self[.requestSeconds] = requests.sum
    self[.requestBound] = Self.bound(requests)
    let commits = after.commits.since(before.commits)
    (self[.commits], self[.commitSeconds]) = (Double(commits.count), commits.sum)
    self[.commitBound] = Self.bound(commits)
    self[.queue] = Double(new.queues.reduce(0) { $0 + $1.count })
    self[.streams] = Double(new.streams)
    self[.memory] = ProcessFigures()?.residentBytes ?? 0
    self[.applied] = Double(new.metrics.applied - old.metrics.applied)
    self[.conflicts] = Double(new.metrics.conflicts - old.metrics.conflicts)
    self[.refusals] = Double(after.refusals - before.refusals)
  }

  /// What 95 of 100 do not exceed; twice the last bound where that is beyond it.
  private static func bound(_ histogram: Histogram) -> Double {
    histogram.count == 0 ? 0 : histogram.bound(of: 0.95) ?? 2 * (histogram.bounds.last ?? 0)
  }

  /// The counters of a node since its start.
  private struct Sums {
    /// By the first digit of the status.
    var classes = [Int](repeating: 0, count: 10)
    var writing = 0
    var requests = Histogram(Histogram.seconds)
    let commits: Histogram
    let refusals: Int

    init(_ metrics: MetricsSummary) {
      for (request, histogram) in metrics.requests {
        classes[min(max(request.status / 100, 0), 9)] += histogram.count
        if !["GET", "HEAD", "OPTIONS"].contains(TextKey(request.method)) { writing += histogram.count }
        requests.add(histogram)
      }
      var commits = metrics.fastCommits
      commits.add(metrics.slowCommits)
      self.commits = commits
      refusals = metrics.refused.reduce(0) { $0 + $1.count }
    }
  }

  // MARK: In the database

  /// The content of a row: the figures other than 0.
  var content: String {
    let members = Field.allCases.filter { self[$0] != 0 }.map { field in
      JSONValue.Member(field.rawValue, .real(self[field]))
    }
    return String(decoding: JSONValue.object(members).bytes, as: UTF8.self)
  }

  /// Reads a row's content. What it does not have, or not as a number from 0 on, is 0.
  init(content: String) {
    let json = try? JSONValue(parsing: Array(content.utf8))
    for field in Field.allCases {
      let value = json?[field.rawValue]?.numberValue ?? 0
      self[field] = value.isFinite ? max(value, 0) : 0
    }
  }
}

extension JSONValue {
  fileprivate var numberValue: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .real(let value): value
    default: nil
    }
  }
}
