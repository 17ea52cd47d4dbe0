package import HoldfastCore

/// The key of a REST request with an idempotency key: PROTOCOL.md, section 9.4.
package struct RequestKey: Sendable, Hashable {
  package let id: String
  /// A cryptographic hash of method, target and content. A different hash under the same id means a different request, so the stored answer
  /// is not sent.
  package let fingerprint: [UInt8]

  package init(id: String, fingerprint: [UInt8]) {
    (self.id, self.fingerprint) = (id, fingerprint)
  }
}

/// A REST answer in its stored form.
package struct RestAnswer: Sendable, Equatable {
  package let status: Int
  /// The header fields, one `Name: value` per line.
  package let head: String
  package let body: [UInt8]

  package init(status: Int, head: String, body: [UInt8]) {
    (self.status, self.head, self.body) = (status, head, body)
  }

  /// The bytes that count toward the retention limit. An unfinished request counts once it is finished.
  package var size: Int64 { progress == nil ? Int64(head.utf8.count + body.count) : 0 }
}

extension RestAnswer {
  /// The stored status of an unfinished request: Processing (RFC 2518, section 10.1). Never sent to a client.
  private static let processing = 102

  /// The stored form of an unfinished request.
  package init(unfinished progress: RestProgress) {
    self.init(status: Self.processing, head: String(progress.done), body: progress.results)
  }

  /// The progress of an unfinished request; nil if the request is finished and this is its answer.
  package var progress: RestProgress? {
    status == Self.processing ? RestProgress(done: Int(head) ?? 0, results: body) : nil
  }
}

/// A stored request with its answer.
package struct AnsweredRequest: Sendable {
  package let request: RequestKey
  /// When the request was answered, in milliseconds since 1970.
  package let at: Int64
  package let answer: RestAnswer

  package init(request: RequestKey, at: Int64, answer: RestAnswer) {
    (self.request, self.at, self.answer) = (request, at, answer)
  }
}

/// A record that an item of a request created.
package struct CreatedRecord: Sendable, Equatable {
  /// The index of the item in the request.
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

/// A record and the user who may have created it.
package struct Creator: Hashable {
  package let record: Footprint.Key
  package let user: String

  package init(record: Footprint.Key, user: String) { (self.record, self.user) = (record, user) }
}

/// A device's stored answers: the oldest ones, and the number and cumulative size of the newest.
package struct RequestLine {
  package var oldest: [RequestRetention.Entry] = []
  package var number: Int64 = 0
  package var end: Int64 = 0

  package init(oldest: [RequestRetention.Entry] = [], number: Int64 = 0, end: Int64 = 0) {
    (self.oldest, self.number, self.end) = (oldest, number, end)
  }
}

/// The stored state of a device's request.
package struct RememberedRequest {
  /// The answer or the progress; nil if it is purged or was never stored.
  package var answer: AnsweredRequest?
  /// The created records; nil if unknown or none.
  package var created: CreatedRecords?
  /// The device's stored answers.
  package let line: RequestLine

  package init(answer: AnsweredRequest?, created: CreatedRecords?, line: RequestLine) {
    (self.answer, self.created, self.line) = (answer, created, line)
  }
}

/// The stored requests with ids. An answer is kept for a limited time. The link to a created record is kept until the record's tombstone is
/// purged.
package protocol RequestTable: AnyObject {
  /// The stored state of a device's request.
  func request(_ id: String, of device: Int64) throws -> RememberedRequest

  /// The ids of the requests by which a user created records of a table, by record id.
  func creators(of ids: [String], in table: Int, for user: String) throws -> TextMap<String>
}
