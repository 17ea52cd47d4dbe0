import HoldfastCore
import HoldfastService

/// What a connection has read of devices, for as long as nobody has written: a device that comes again and finds nothing new costs one look at the
/// state of the database.
///
/// PostgreSQL tells the state: two equal snapshots see the same transactions, and so the same rows. Source:
/// <https://www.postgresql.org/docs/15/functions-info.html#FUNCTIONS-PG-SNAPSHOT>. It is asked first only where nothing was written between the last
/// two looks: while others write, that would be a round trip in vain.
struct PostgresReadCache {
  /// How many rows are kept, about 300 bytes each; beyond them all are dropped.
  private static let limit = 20_000

  private var snapshot = ""
  private var count = 0
  private var devices: [TokenHash: PostgresFindings.Found] = [:]
  private var answers: [Int64: (request: QuietRequest, answer: [UInt8])] = [:]
  /// Whether nothing was written between the last two looks.
  private(set) var isQuiet = false

  /// Takes the state that was found; what is of another is dropped.
  ///
  /// - Returns: whether it is the one of before.
  @discardableResult
  mutating func see(_ snapshot: String) -> Bool {
    isQuiet = snapshot == self.snapshot
    if !isQuiet || count > Self.limit {
      (self.snapshot, count, devices, answers) = (snapshot, 0, [:], [:])
    }
    return isQuiet
  }

  /// The devices of all the tokens, in the state that was seen last; nil where one of them is not known.
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
      self.devices[token] = found
      count += 1 + found.zones.count
    }
  }

  func answer(to request: QuietRequest, of device: PostgresFindings.Found) -> [UInt8]? {
    guard device.snapshot == snapshot, let number = device.device?.key.number, let known = answers[number],
      known.request == request
    else { return nil }
    return known.answer
  }

  mutating func keep(_ answer: [UInt8], to request: QuietRequest, of device: PostgresFindings.Found) {
    guard device.snapshot == snapshot, let number = device.device?.key.number else { return }
    answers[number] = (request, answer)
    count += 1 + answer.count / 300
  }
}
