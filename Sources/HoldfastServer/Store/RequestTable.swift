import HoldfastCore

/// A request of REST to which its sender gave an id: PROTOCOL.md, section 9.4.
struct RequestKey: Sendable, Hashable {
  let id: String
  /// A cryptographic hash of method, target and content: it decides whether somebody is answered with what another was told.
  let fingerprint: [UInt8]
}

/// An answer of REST in the form in which it is kept.
struct RestAnswer: Sendable, Equatable {
  let status: Int
  /// The fields of the head, `Name: value`, a line for each.
  let head: String
  let body: [UInt8]

  /// How much of what is kept it takes up.
  var size: Int64 { Int64(head.utf8.count + body.count) }
}

/// A request that was answered.
struct AnsweredRequest: Sendable {
  let request: RequestKey
  /// When, in milliseconds since 1970.
  let at: Int64
  let answer: RestAnswer
}

/// A record that an item of a request made.
struct CreatedRecord: Sendable, Equatable {
  /// The index of the item.
  let place: Int
  /// The name of the table.
  let table: String
  let id: String
}

/// The requests that devices gave an id: how they were answered, for a while, and what they created, as long as that or its tombstone is.
protocol RequestTable: AnyObject {
  /// How a request of a device was answered; nil when that is not known any more.
  func answer(to id: String, of device: Int64) throws -> AnsweredRequest?

  /// The records that a request of a device created, in the order of its items; nil when it is not known, or created none.
  func created(by id: String, of device: Int64) throws -> (request: RequestKey, records: [CreatedRecord])?

  /// The id of the request by which a user created a record, or nil.
  func creator(of record: Expectation.Key, for user: String) throws -> String?

  /// Remembers how a request was answered, and forgets some of those that need not be known any more.
  func add(_ answered: AnsweredRequest, to device: Int64) throws

  /// Remembers what a request of a user's device created.
  func add(_ records: [CreatedRecord], by request: RequestKey, of device: Int64, user: String) throws
}

/// How long the answers to a device's requests are kept.
enum RequestRetention {
  /// For so many milliseconds,
  static let time: Int64 = 86_400_000
  /// and so many,
  static let count: Int64 = 1000
  /// and of those so many bytes.
  static let size: Int64 = 16 << 20
  /// How many are forgotten at the most when another is added, so that none waits long.
  static let step = 64

  /// An answer among those of its device.
  struct Entry {
    /// Counts the answers of the device.
    let number: Int64
    let at: Int64
    /// The size of all answers before it, forgotten ones too.
    let before: Int64
  }

  /// Whether a request that was answered then is still known.
  static func isKept(_ at: Int64, now: Int64) -> Bool { at > now - time }

  /// The number up to which answers need not be kept when one more is added; nil for none.
  ///
  /// - Parameters:
  ///   - oldest: the oldest, in order.
  ///   - next: the one that is added; `before` is the size of all, with it.
  static func expired(_ oldest: [Entry], next: Entry) -> Int64? {
    oldest.prefix { entry in
      entry.number <= next.number - count || entry.before < next.before - size
        || !isKept(entry.at, now: next.at)
    }.last?.number
  }
}
