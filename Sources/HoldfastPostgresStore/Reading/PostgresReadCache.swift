import HoldfastCore
import HoldfastService

/// A connection's cache of device rows and of answers to quiet requests, valid until somebody writes. A request of an up-to-date device costs
/// one query for the current snapshot, however many zones it has.
///
/// Two equal snapshots of one server process see the same transactions, so the same rows. Source:
/// <https://www.postgresql.org/docs/15/functions-info.html#FUNCTIONS-PG-SNAPSHOT>. The snapshot is queried first only if nothing was written
/// between the last two queries. While others write, the extra round trip would gain nothing.
struct PostgresReadCache {
  /// The maximum number of rows, about 300 bytes each. Above it, all are removed.
  private static let limit = 20_000

  private var snapshot = ""
  private var count = 0
  private var devices: [TokenHash: PostgresFindings.Found] = [:]
  /// By the number of the device.
  private var answers: [Int64: (request: QuietRequest, answer: [UInt8])] = [:]
  /// Whether nothing was written between the last two queries.
  private(set) var isQuiet = false

  /// Sets the current snapshot, and removes the rows of any other.
  ///
  /// - Returns: whether it equals the previous one.
  @discardableResult
  mutating func see(_ snapshot: String) -> Bool {
    isQuiet = snapshot == self.snapshot
    if !isQuiet || count > Self.limit {
      (self.snapshot, count, devices, answers) = (snapshot, 0, [:], [:])
    }
    return isQuiet
  }

  /// The devices of all tokens in the current snapshot; nil if one of them is not in the cache.
  func devices(_ tokens: [TokenHash]) -> [TokenHash: PostgresFindings.Found]? {
    var found: [TokenHash: PostgresFindings.Found] = [:]
    for token in tokens {
      guard let device = devices[token] else { return nil }
      found[token] = device
    }
    return found
  }

  mutating func keep(_ devices: [TokenHash: PostgresFindings.Found]) {
    for (token, found) in devices where found.snapshot == snapshot {
      if self.devices.updateValue(found, forKey: token) == nil { count += 1 + found.zones.count }
    }
  }

  /// The answer to a request of a device that was read from a snapshot; nil if that is not the current one, or it was asked something else.
  func answer(to request: QuietRequest, of device: Int64, in snapshot: String) -> [UInt8]? {
    guard !snapshot.isEmpty, snapshot == self.snapshot, let kept = answers[device], kept.request == request
    else { return nil }
    return kept.answer
  }

  mutating func keep(_ answer: [UInt8], to request: QuietRequest, of device: Int64, in snapshot: String) {
    if snapshot.isEmpty || snapshot != self.snapshot { return }
    answers[device] = (request, answer)
    count += 1 + answer.count / 300
  }
}
