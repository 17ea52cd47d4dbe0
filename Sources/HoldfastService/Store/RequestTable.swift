package import HoldfastCore

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

/// The records that a request created, in the order of its items.
package struct CreatedRecords: Sendable {
  package let request: RequestKey
  package let records: [CreatedRecord]

  package init(request: RequestKey, records: [CreatedRecord]) {
    (self.request, self.records) = (request, records)
  }
}

/// A request of a device by its id.
package struct RequestPlace: Hashable {
  package let device: Int64
  package let id: String

  package init(device: Int64, id: String) { (self.device, self.id) = (device, id) }
}

/// A user who may have created a record.
package struct Creator: Hashable {
  package let record: Footprint.Key
  package let user: String

  package init(record: Footprint.Key, user: String) { (self.record, self.user) = (record, user) }
}

/// The answers of a device that are kept: the oldest, and the number and the end of the last.
package struct RequestLine {
  package var oldest: [RequestRetention.Entry] = []
  package var number: Int64 = 0
  package var end: Int64 = 0

  package init(oldest: [RequestRetention.Entry] = [], number: Int64 = 0, end: Int64 = 0) {
    (self.oldest, self.number, self.end) = (oldest, number, end)
  }
}

/// What is known of a request of a device.
package struct RememberedRequest {
  /// How it was answered, or how far it has come; nil when that is not known any more.
  package var answer: AnsweredRequest?
  /// Nil when it is not known, or created none.
  package var created: CreatedRecords?
  /// The answers of the device.
  package let line: RequestLine

  package init(answer: AnsweredRequest?, created: CreatedRecords?, line: RequestLine) {
    (self.answer, self.created, self.line) = (answer, created, line)
  }
}

/// The requests that devices gave an id, as the database has them: how they were answered, for a while, and what they created, as long as that or
/// its tombstone is.
package protocol RequestTable: AnyObject {
  /// What is known of a request of a device.
  func request(_ id: String, of device: Int64) throws -> RememberedRequest

  /// The ids of the requests by which a user created records of a table, by the records.
  func creators(of ids: [String], in table: Int, for user: String) throws -> TextMap<String>
}
