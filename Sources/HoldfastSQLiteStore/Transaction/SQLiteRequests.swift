import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// The requests with ids in SQLite, with prepared statements.
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
    // Replaces an expired answer under the same id.
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

  func request(_ id: String, of device: Int64) throws -> RememberedRequest {
    try findLast.bind(device, at: 1)
    defer { findLast.reset() }
    let (last, end) = try findLast.step() ? (findLast.integer(0), findLast.integer(1)) : (0, 0)
    return try RememberedRequest(
      answer: answer(to: id, of: device), created: created(by: id, of: device),
      line: RequestLine(oldest: last == 0 ? [] : oldest(of: device), number: last, end: end))
  }

  private func answer(to id: String, of device: Int64) throws -> AnsweredRequest? {
    try find.bind(device, at: 1)
    try find.bind(id, at: 2)
    defer { find.reset() }
    guard try find.step() else { return nil }
    return AnsweredRequest(
      request: RequestKey(id: id, fingerprint: find.blob(0)), at: find.integer(1),
      answer: RestAnswer(status: Int(find.integer(2)), head: find.text(3), body: find.blob(4)))
  }

  private func created(by id: String, of device: Int64) throws -> CreatedRecords? {
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
    return records.isEmpty
      ? nil : CreatedRecords(request: RequestKey(id: id, fingerprint: fingerprint), records: records)
  }

  func creators(of ids: [String], in table: Int, for user: String) throws -> TextMap<String> {
    var creators: TextMap<String> = [:]
    for id in ids {
      try findCreator.bind(id, at: 1)
      try findCreator.bind(tables[table], at: 2)
      try findCreator.bind(user, at: 3)
      creators[id] = try findCreator.firstText()
    }
    return creators
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

  /// Writes the changes of a transaction.
  func write(_ delta: RequestDelta) throws {
    for (device, number) in delta.purged {
      try purge.bind(device, at: 1)
      try purge.bind(number, at: 2)
      try purge.run()
    }
    for addition in delta.additions { try add(addition) }
    for (device, answered) in delta.changes { try replace(answered, of: device) }
    for creation in delta.created { try add(creation) }
  }

  private func add(_ addition: RequestAddition) throws {
    let answered = addition.answered
    try put.bind(addition.device, at: 1)
    try put.bind(answered.request.id, at: 2)
    try put.bind(addition.number, at: 3)
    try put.bind(addition.before, at: 4)
    try put.bind(answered.answer.size, at: 5)
    try put.bind(answered.at, at: 6)
    try put.bind(.blob(answered.request.fingerprint), at: 7)
    try put.bind(Int64(answered.answer.status), at: 8)
    try put.bind(answered.answer.head, at: 9)
    try put.bind(.blob(answered.answer.body), at: 10)
    try put.run()
  }

  private func replace(_ answered: AnsweredRequest, of device: Int64) throws {
    try change.bind(device, at: 1)
    try change.bind(answered.request.id, at: 2)
    try change.bind(answered.at, at: 3)
    try change.bind(.blob(answered.request.fingerprint), at: 4)
    try change.bind(answered.answer.head, at: 5)
    try change.bind(.blob(answered.answer.body), at: 6)
    try change.run()
  }

  private func add(_ creation: NewCreation) throws {
    try putCreated.bind(creation.device, at: 1)
    try putCreated.bind(creation.request.id, at: 2)
    try putCreated.bind(Int64(creation.record.place), at: 3)
    try putCreated.bind(creation.user, at: 4)
    try putCreated.bind(.blob(creation.request.fingerprint), at: 5)
    try putCreated.bind(creation.record.table, at: 6)
    try putCreated.bind(creation.record.id, at: 7)
    try putCreated.run()
  }
}
