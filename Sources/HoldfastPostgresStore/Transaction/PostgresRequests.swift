import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// The requests with ids: what a transaction has read of them, and what it adds, which is written at its end. All of a device is on its shard.
final class PostgresRequests: RequestTable {
  private struct Key: Hashable {
    let device: Int64
    let id: String
  }

  private struct Creation {
    let request: RequestKey
    var records: [CreatedRecord]
  }

  /// The answers of a device that are kept: the oldest, and the number and the end of the last.
  private struct Line {
    var oldest: [RequestRetention.Entry] = []
    var number: Int64 = 0
    var end: Int64 = 0
  }

  private struct Creator: Hashable {
    let record: Footprint.Key
    let user: String
  }

  /// An answer to be written.
  struct Addition {
    let device: Int64
    let number: Int64
    let before: Int64
    let answered: AnsweredRequest
  }

  private unowned let store: PostgresStore
  private var answers: [Key: AnsweredRequest] = [:]
  private var creations: [Key: Creation] = [:]
  private var lines: [Int64: Line] = [:]
  private var creators: [Creator: String?] = [:]
  /// Up to which number a device's answers are purged.
  private(set) var purged: [Int64: Int64] = [:]
  private(set) var additions: [Addition] = []
  /// What is remembered of requests that are not done yet, in the place of what was; their numbers stay.
  private(set) var changes: [(device: Int64, answered: AnsweredRequest)] = []
  private(set) var newRecords: [(request: RequestKey, device: Int64, user: String, record: CreatedRecord)] =
    []

  init(_ store: PostgresStore) { self.store = store }

  /// A new transaction begins.
  func begin() {
    answers.removeAll(keepingCapacity: true)
    creations.removeAll(keepingCapacity: true)
    lines.removeAll(keepingCapacity: true)
    creators.removeAll(keepingCapacity: true)
    purged.removeAll(keepingCapacity: true)
    additions.removeAll(keepingCapacity: true)
    changes.removeAll(keepingCapacity: true)
    newRecords.removeAll(keepingCapacity: true)
  }

  // MARK: Reading

  /// What was asked of the database, with the places of its answers.
  struct Asked {
    fileprivate var requests: [(device: Int64, id: String, number: Int)] = []
    fileprivate var creators: [(table: Int, ids: [String], user: String, number: Int)] = []
  }

  /// Asks for what the commands will want to know; behind the lock of their devices.
  func ask(_ footprints: [Footprint], _ pipe: PostgresPipeline) -> Asked {
    var asked = Asked()
    for footprint in footprints {
      if let id = footprint.request, let device = footprint.device {
        let number = pipe.send(PostgresRequestStatements.find, PostgresParameters(device.number, id))
        pipe.send(PostgresRequestStatements.findCreated, PostgresParameters(device.number, id))
        pipe.send(PostgresRequestStatements.findLast, PostgresParameters(device.number))
        pipe.send(PostgresRequestStatements.findOldest, PostgresParameters(device.number))
        asked.requests.append((device.number, id, number))
      }
      guard let user = footprint.user else { continue }
      for (table, keys) in Dictionary(grouping: footprint.shown, by: \.table) {
        let ids = keys.map(\.id)
        let number = pipe.send(PostgresRecordStatements.findCreators, parameters(table, ids, user))
        asked.creators.append((table, ids, user, number))
      }
    }
    return asked
  }

  /// Takes in what the database answered.
  func learn(_ asked: Asked, _ answers: [PostgresRows]) {
    for (device, id, number) in asked.requests {
      let key = Key(device: device, id: id)
      self.answers[key] = Self.answer(answers[number], id)
      creations[key] = Self.creation(answers[number + 1], id)
      let (last, oldest) = (answers[number + 2], answers[number + 3])
      lines[device] = Line(
        oldest: oldest.indices.map { row in
          RequestRetention.Entry(
            number: oldest.int64(row, 0), at: oldest.int64(row, 1), before: oldest.int64(row, 2))
        }, number: last.isEmpty ? 0 : last.int64(0, 0), end: last.isEmpty ? 0 : last.int64(0, 1))
    }
    for (table, ids, user, number) in asked.creators { learn(answers[number], table, ids, user) }
  }

  private func learn(_ rows: PostgresRows, _ table: Int, _ ids: [String], _ user: String) {
    for id in ids { creators[creator(table, id, user)] = .some(nil) }
    for row in rows.indices { creators[creator(table, rows.text(row, 0), user)] = rows.text(row, 1) }
  }

  private func creator(_ table: Int, _ id: String, _ user: String) -> Creator {
    Creator(record: Footprint.Key(table: table, id: id), user: user)
  }

  private func parameters(_ table: Int, _ ids: [String], _ user: String) -> PostgresParameters {
    var parameters = PostgresParameters(user, store.schema.tables[table].name)
    parameters.append(array: ids)
    return parameters
  }

  private static func answer(_ rows: PostgresRows, _ id: String) -> AnsweredRequest? {
    if rows.isEmpty { return nil }
    return AnsweredRequest(
      request: RequestKey(id: id, fingerprint: rows.bytes(0, 0)), at: rows.int64(0, 1),
      answer: RestAnswer(
        status: Int(clamping: rows.int64(0, 2)), head: rows.text(0, 3), body: rows.bytes(0, 4)))
  }

  private static func creation(_ rows: PostgresRows, _ id: String) -> Creation? {
    if rows.isEmpty { return nil }
    return Creation(
      request: RequestKey(id: id, fingerprint: rows.bytes(0, 0)),
      records: rows.indices.map { row in
        CreatedRecord(
          place: Int(clamping: rows.int64(row, 1)), table: rows.text(row, 2), id: rows.text(row, 3))
      })
  }

  // MARK: The contract

  func answer(to id: String, of device: Int64) throws -> AnsweredRequest? {
    answers[Key(device: device, id: id)]
  }

  func created(by id: String, of device: Int64) throws -> (request: RequestKey, records: [CreatedRecord])? {
    creations[Key(device: device, id: id)].map { ($0.request, $0.records) }
  }

  func creator(of record: Footprint.Key, for user: String) throws -> String? {
    let key = Creator(record: record, user: user)
    if let known = creators[key] { return known }
    let rows = try store.connection.query(
      PostgresRecordStatements.findCreators, parameters(record.table, [record.id], user))
    learn(rows, record.table, [record.id], user)
    return creators[key] ?? nil
  }

  func add(_ answered: AnsweredRequest, to device: Int64) throws {
    let key = Key(device: device, id: answered.request.id)
    if answered.answer.progress != nil, answers[key]?.answer.progress != nil {
      answers[key] = answered
      return changes.append((device, answered))
    }
    // It takes the place of what the transaction remembered before.
    changes.removeAll { $0.device == device && $0.answered.request == answered.request }
    var line = lines[device] ?? Line()
    let before = line.end
    line.number += 1
    line.end += answered.answer.size
    if let expired = RequestRetention.expired(
      line.oldest, number: line.number, total: line.end, now: answered.at)
    {
      purged[device] = expired
      line.oldest.removeAll { $0.number <= expired }
    }
    lines[device] = line
    answers[key] = answered
    additions.append(
      Addition(device: device, number: line.number, before: before, answered: answered))
  }

  func add(_ records: [CreatedRecord], by request: RequestKey, of device: Int64, user: String) throws {
    let key = Key(device: device, id: request.id)
    creations[key, default: Creation(request: request, records: [])].records += records
    for record in records {
      newRecords.append((request, device, user, record))
      if let table = store.schema.index(of: record.table) {
        creators[creator(table, record.id, user)] = request.id
      }
    }
  }
}
