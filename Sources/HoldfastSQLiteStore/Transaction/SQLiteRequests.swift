import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// The requests with ids in SQLite: the statements, prepared once.
final class SQLiteRequests: RequestTable {
  /// The names of the tables, in the order of the schema.
  private let tables: [String]
  private let find: Statement
  private let findCreated: Statement
  private let findCreator: Statement
  private let findLast: Statement
  private let findOldest: Statement
  private let purge: Statement
  private let put: Statement
  private let change: Statement
  private let putCreated: Statement

  init(_ schema: SyncSchema, on connection: SQLiteConnection) throws {
    tables = schema.tables.map(\.name)
    find = try connection.statement(
      """
      SELECT fingerprint, at, status, head, body FROM holdfast_requests WHERE device = ? AND request_id = ?
      """)
    findCreated = try connection.statement(
      """
      SELECT fingerprint, place, record_table, record_id FROM holdfast_created
      WHERE device = ? AND request_id = ? ORDER BY place
      """)
    findCreator = try connection.statement(
      "SELECT request_id FROM holdfast_created WHERE record_id = ? AND record_table = ? AND user = ?")
    findLast = try connection.statement(
      """
      SELECT number, bytes_before + bytes FROM holdfast_requests WHERE device = ? ORDER BY number DESC LIMIT 1
      """)
    findOldest = try connection.statement(
      "SELECT number, at, bytes_before FROM holdfast_requests WHERE device = ? ORDER BY number LIMIT ?")
    purge = try connection.statement("DELETE FROM holdfast_requests WHERE device = ? AND number <= ?")
    // One of the id may be there still whose time is over.
    put = try connection.statement(
      """
      INSERT OR REPLACE INTO holdfast_requests
        (device, request_id, number, bytes_before, bytes, at, fingerprint, status, head, body)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
    change = try connection.statement(
      """
      UPDATE holdfast_requests SET at = ?3, fingerprint = ?4, head = ?5, body = ?6
      WHERE device = ?1 AND request_id = ?2
      """)
    putCreated = try connection.statement(
      """
      INSERT INTO holdfast_created (device, request_id, place, user, fingerprint, record_table, record_id)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """)
  }

  func answer(to id: String, of device: Int64) throws -> AnsweredRequest? {
    try find.bind(device, at: 1)
    try find.bind(id, at: 2)
    defer { find.reset() }
    guard try find.step() else { return nil }
    return AnsweredRequest(
      request: RequestKey(id: id, fingerprint: find.blob(0)), at: find.integer(1),
      answer: RestAnswer(status: Int(find.integer(2)), head: find.text(3), body: find.blob(4)))
  }

  func created(by id: String, of device: Int64) throws -> (request: RequestKey, records: [CreatedRecord])? {
    try findCreated.bind(device, at: 1)
    try findCreated.bind(id, at: 2)
    defer { findCreated.reset() }
    var fingerprint: [UInt8] = []
    var records: [CreatedRecord] = []
    while try findCreated.step() {
      fingerprint = findCreated.blob(0)
      records.append(
        CreatedRecord(
          place: Int(findCreated.integer(1)), table: findCreated.text(2), id: findCreated.text(3)))
    }
    return records.isEmpty ? nil : (RequestKey(id: id, fingerprint: fingerprint), records)
  }

  func creator(of record: Footprint.Key, for user: String) throws -> String? {
    try findCreator.bind(record.id, at: 1)
    try findCreator.bind(tables[record.table], at: 2)
    try findCreator.bind(user, at: 3)
    return try findCreator.firstText()
  }

  func add(_ answered: AnsweredRequest, to device: Int64) throws {
    if answered.answer.progress != nil, try replace(answered, of: device) { return }
    try findLast.bind(device, at: 1)
    let (last, before) = try findLast.step() ? (findLast.integer(0), findLast.integer(1)) : (0, 0)
    findLast.reset()
    if let expired = RequestRetention.expired(
      try oldest(of: device), number: last + 1, total: before + answered.answer.size, now: answered.at)
    {
      try purge.bind(device, at: 1)
      try purge.bind(expired, at: 2)
      try purge.run()
    }
    try put.bind(device, at: 1)
    try put.bind(answered.request.id, at: 2)
    try put.bind(last + 1, at: 3)
    try put.bind(before, at: 4)
    try put.bind(answered.answer.size, at: 5)
    try put.bind(answered.at, at: 6)
    try put.bind(.blob(answered.request.fingerprint), at: 7)
    try put.bind(Int64(answered.answer.status), at: 8)
    try put.bind(answered.answer.head, at: 9)
    try put.bind(.blob(answered.answer.body), at: 10)
    try put.run()
  }

  /// Replaces what is remembered of a request that is not done yet; false when that is nothing.
  private func replace(_ answered: AnsweredRequest, of device: Int64) throws -> Bool {
    guard try answer(to: answered.request.id, of: device)?.answer.progress != nil else { return false }
    try change.bind(device, at: 1)
    try change.bind(answered.request.id, at: 2)
    try change.bind(answered.at, at: 3)
    try change.bind(.blob(answered.request.fingerprint), at: 4)
    try change.bind(answered.answer.head, at: 5)
    try change.bind(.blob(answered.answer.body), at: 6)
    try change.run()
    return true
  }

  private func oldest(of device: Int64) throws -> [RequestRetention.Entry] {
    try findOldest.bind(device, at: 1)
    try findOldest.bind(Int64(RequestRetention.step), at: 2)
    defer { findOldest.reset() }
    var entries: [RequestRetention.Entry] = []
    while try findOldest.step() {
      entries.append(
        RequestRetention.Entry(
          number: findOldest.integer(0), at: findOldest.integer(1), before: findOldest.integer(2)))
    }
    return entries
  }

  func add(_ records: [CreatedRecord], by request: RequestKey, of device: Int64, user: String) throws {
    for record in records {
      try putCreated.bind(device, at: 1)
      try putCreated.bind(request.id, at: 2)
      try putCreated.bind(Int64(record.place), at: 3)
      try putCreated.bind(user, at: 4)
      try putCreated.bind(.blob(request.fingerprint), at: 5)
      try putCreated.bind(record.table, at: 6)
      try putCreated.bind(record.id, at: 7)
      try putCreated.run()
    }
  }
}
