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

  /// How much of what is kept it takes up. That of a request that is not done yet counts when it is.
  var size: Int64 { progress == nil ? Int64(head.utf8.count + body.count) : 0 }
}

extension RestAnswer {
  /// The status under which a request is kept that is not done yet: Processing (RFC 2518, section 10.1). Nobody is answered with it.
  private static let processing = 102

  /// What is kept of a request that is not done yet.
  init(unfinished progress: RestProgress) {
    self.init(status: Self.processing, head: String(progress.done), body: progress.results)
  }

  /// How far the request has come; nil when it is done, and this is its answer.
  var progress: RestProgress? {
    status == Self.processing ? RestProgress(done: Int(head) ?? 0, results: body) : nil
  }
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
  func creator(of record: Footprint.Key, for user: String) throws -> String?

  /// Remembers how a request was answered, or how far it has come, and purges some of those that need not be known any more. What is remembered
  /// of a request that is not done yet is replaced, and keeps its place among the others.
  func add(_ answered: AnsweredRequest, to device: Int64) throws

  /// Remembers what a request of a user's device created.
  func add(_ records: [CreatedRecord], by request: RequestKey, of device: Int64, user: String) throws
}
