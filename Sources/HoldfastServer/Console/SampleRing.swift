import HoldfastCore
import HoldfastService
import HoldfastSystem

/// The samples of this node that are not in the database: those of 10 seconds, of the last hour; and the minutes that wait to be written.
final class SampleRing: Sendable {
  /// A sample and the begin of its period, in seconds since 1970.
  typealias Timed = (at: Int64, sample: Sample)

  /// How long the samples of 10 seconds are kept, in seconds.
  static let recentLife: Int64 = 3600
  /// The longest time that minutes without writes wait, in seconds, and the number of minutes that wait while the database takes none.
  static let (longestWait, waitLimit): (Int64, Int) = (3600, 240)

  private struct Samples {
    var recent: [Timed] = []
    var minute: Timed?
    var waiting: [Timed] = []
  }

  private let samples = Locked(Samples())

  /// Adds a sample.
  ///
  /// - Returns: whether a minute is complete.
  func add(_ sample: Sample, at now: Int64) -> Bool {
    samples.withLock { samples in
      // The clock may have been set back.
      samples.recent.removeAll { $0.at <= now - Self.recentLife || $0.at > now }
      samples.recent.append((now, sample))
      let begin = now - now % StoredSample.Span.minute.rawValue
      guard let minute = samples.minute, minute.at != begin else {
        samples.minute = (begin, samples.minute?.sample ?? Sample())
        samples.minute?.sample.add(sample)
        return false
      }
      samples.waiting.append(minute)
      if samples.waiting.count > Self.waitLimit { samples.waiting.removeFirst() }
      samples.minute = (begin, sample)
      return true
    }
  }

  /// The complete minutes, if they are to be written now: the database was written to in the last one, or the first has waited for an hour. So
  /// nothing wakes the disk of an idle server but once an hour.
  func due(at now: Int64) -> [Timed] {
    samples.withLock { samples in
      guard let first = samples.waiting.first, let last = samples.waiting.last else { return [] }
      let isDue = last.sample[.writing] > 0 || now - first.at >= Self.longestWait || first.at > now
      return isDue ? samples.waiting : []
    }
  }

  /// All minutes that are not in the database, and the one that is not complete.
  var unwritten: [Timed] { samples.withLock { $0.waiting + ($0.minute.map { [$0] } ?? []) } }

  /// Forgets complete minutes that are in the database now.
  func wrote(_ minutes: [Timed]) {
    let times = Set(minutes.map(\.at))
    samples.withLock { $0.waiting.removeAll { times.contains($0.at) } }
  }

  /// The samples of 10 seconds.
  var recent: [Timed] { samples.withLock { $0.recent } }
}
