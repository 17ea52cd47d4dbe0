import HoldfastCore

/// The requests with ids: what a transaction has read of them, and what it adds, which is written at its end.
package final class RequestLedger {
  private unowned let transaction: Transaction
  private var table: any RequestTable { transaction.store.requests }
  private var known: [RequestPlace: RememberedRequest] = [:]
  /// The answers of each device that are kept.
  private var lines: [Int64: RequestLine] = [:]
  private var creators: [Creator: String?] = [:]
  private var delta = RequestDelta()

  init(_ transaction: Transaction) { self.transaction = transaction }

  /// A transaction begins, with what was fetched for it.
  func begin(_ fetched: Fetched) {
    known.removeAll(keepingCapacity: true)
    lines.removeAll(keepingCapacity: true)
    for (place, request) in fetched.requests { learn(place, request) }
    creators = fetched.creators
    delta = RequestDelta()
  }

  /// What is written right before the commit.
  func fill(_ all: inout Delta) { all.requests = delta }

  private func learn(_ place: RequestPlace, _ request: RememberedRequest) {
    known[place] = request
    if lines[place.device] == nil { lines[place.device] = request.line }
  }

  private func request(_ id: String, of device: Int64) throws -> RememberedRequest {
    let place = RequestPlace(device: device, id: id)
    if let known = known[place] { return known }
    let found = try table.request(id, of: device)
    learn(place, found)
    return found
  }

  /// How a request of a device was answered; nil when that is not known any more.
  func answer(to id: String, of device: Int64) throws -> AnsweredRequest? {
    try request(id, of: device).answer
  }

  /// The records that a request of a device created, in the order of its items; nil when it is not known, or created none.
  func created(by id: String, of device: Int64) throws -> CreatedRecords? {
    try request(id, of: device).created
  }

  /// The id of the request by which a user created a record, or nil.
  func creator(of record: Footprint.Key, for user: String) throws -> String? {
    let key = Creator(record: record, user: user)
    if let known = creators[key] { return known }
    let creator = try table.creators(of: [record.id], in: record.table, for: user)[record.id]
    creators[key] = .some(creator)
    return creator
  }

  /// Remembers how a request was answered, or how far it has come, and purges some of those that need not be known any more. What is remembered
  /// of a request that is not done yet is replaced, and keeps its place among the others.
  func add(_ answered: AnsweredRequest, to device: Int64) throws {
    let place = RequestPlace(device: device, id: answered.request.id)
    var request = try request(place.id, of: device)
    let isBegun = request.answer?.answer.progress != nil
    request.answer = answered
    known[place] = request
    if answered.answer.progress != nil, isBegun { return delta.changes.append((device, answered)) }
    // It takes the place of what the transaction remembered before.
    delta.changes.removeAll { $0.device == device && $0.answered.request == answered.request }
    var line = lines[device] ?? RequestLine()
    let before = line.end
    line.number += 1
    line.end += answered.answer.size
    if let expired = RequestRetention.expired(
      line.oldest, number: line.number, total: line.end, now: answered.at)
    {
      delta.purged[device] = expired
      line.oldest.removeAll { $0.number <= expired }
    }
    lines[device] = line
    delta.additions.append(
      RequestAddition(device: device, number: line.number, before: before, answered: answered))
  }

  /// Remembers what a request of a user's device created.
  func add(_ records: [CreatedRecord], by key: RequestKey, of device: Int64, user: String) throws {
    var request = try request(key.id, of: device)
    request.created = CreatedRecords(request: key, records: (request.created?.records ?? []) + records)
    known[RequestPlace(device: device, id: key.id)] = request
    for record in records {
      delta.created.append(NewCreation(request: key, device: device, user: user, record: record))
      if let table = transaction.schema.index(of: record.table) {
        creators[Creator(record: Footprint.Key(table: table, id: record.id), user: user)] = key.id
      }
    }
  }
}
