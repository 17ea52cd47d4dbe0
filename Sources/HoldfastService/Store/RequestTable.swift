import HoldfastCore

/// A request of REST to which its sender gave an id: PROTOCOL.md, section 9.4.
package struct RequestKey: Sendable, Hashable {
  package let id: String
  /// A cryptographic hash of method, target and content: it decides whether somebody is answered with what another was told.
  package let fingerprint: [UInt8]

  package init(id: String, fingerprint: [UInt8]) {
    (self.id, self.fingerprint) = (id, fingerprint)
  }
}

/// An answer of REST in the form in which it is kept.
package struct RestAnswer: Sendable, Equatable {
  package let status: Int
  /// The fields of the head, `Name: value`, a line for each.
  package let head: String
  package let body: [UInt8]

  package init(status: Int, head: String, body: [UInt8]) {
    (self.status, self.head, self.body) = (status, head, body)
  }

  /// How much of what is kept it takes up. That of a request that is not done yet counts when it is.
  package var size: Int64 { progress == nil ? Int64(head.utf8.count + body.count) : 0 }
}

extension RestAnswer {
  /// The status under which a request is kept that is not done yet: Processing (RFC 2518, section 10.1). Nobody is answered with it.
  private static let processing = 102

  /// What is kept of a request that is not done yet.
  package init(unfinished progress: RestProgress) {
    self.init(status: Self.processing, head: String(progress.done), body: progress.results)
  }

  /// How far the request has come; nil when it is done, and this is its answer.
  package var progress: RestProgress? {
    status == Self.processing ? RestProgress(done: Int(head) ?? 0, results: body) : nil
  }
}

/// A request that was answered.
package struct AnsweredRequest: Sendable {
  package let request: RequestKey
  /// When, in milliseconds since 1970.
  package let at: Int64
  package let answer: RestAnswer

  package init(request: RequestKey, at: Int64, answer: RestAnswer) {
    (self.request, self.at, self.answer) = (request, at, answer)
  }
}

/// A record that an item of a request made.
package struct CreatedRecord: Sendable, Equatable {
  /// The index of the item.
  package let place: Int
  /// The name of the table.
  package let table: String
  package let id: String

  package init(place: Int, table: String, id: String) {
    (self.place, self.table, self.id) = (place, table, id)
  }
}

/// The requests that devices gave an id: how they were answered, for a while, and what they created, as long as that or its tombstone is.
package protocol RequestTable: AnyObject {
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
