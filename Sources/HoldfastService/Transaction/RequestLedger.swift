import HoldfastCore

/// The requests with ids that a transaction has read or added. Additions are written at the end.
package final class RequestLedger {
  private unowned let transaction: Transaction
  private var table: any RequestTable { transaction.store.requests }
  private var known: [RequestPlace: RememberedRequest] = [:]
  /// The stored answers of each device.
  private var lines: [Int64: RequestLine] = [:]
  private var creators: [Creator: String?] = [:]
  private var delta = RequestDelta()

  init(_ transaction: Transaction) { self.transaction = transaction }

  /// Resets the ledger for a new transaction, with the fetched data.
  func begin(_ fetched: Fetched) {
    known.removeAll(keepingCapacity: true)
    lines.removeAll(keepingCapacity: true)
    for (place, request) in fetched.requests { learn(place, request) }
    creators = fetched.creators
    delta = RequestDelta()
  }

  /// Adds the changes for the write before the commit.
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

  /// The answer or progress of a device's request; nil if it is purged or was never stored.
  func answer(to id: String, of device: Int64) throws -> AnsweredRequest? {
    try request(id, of: device).answer
  }

  /// The records that a device's request created, in the order of its items; nil if unknown or none.
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

  /// Stores an answer or a progress, and purges some expired answers. New progress replaces earlier progress under the same number.
  func add(_ answered: AnsweredRequest, to device: Int64) throws {
    let place = RequestPlace(device: device, id: answered.request.id)
    var request = try request(place.id, of: device)
    let isBegun = request.answer?.answer.progress != nil
    request.answer = answered
    known[place] = request
    if answered.answer.progress != nil, isBegun { return delta.changes.append((device, answered)) }
    // The final answer replaces progress that this transaction stored before.
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

  /// Stores which records a request created.
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
