import HoldfastCore

/// Stores the answer to a request with an id, and restores it when the request is repeated.
///
/// A short patch of a long record has a long answer. The stored answer omits the records' columns, so that its size depends on the size of
/// the request. A replay shows the columns of the records that have not changed since.
extension RestRun {
  /// The answer size in bytes that is stored completely for any request.
  static let keptSize = 16 << 10

  /// An answer in the form to store.
  package func kept(_ answer: RestAnswer) throws -> RestAnswer {
    guard answer.body.count > max(Self.keptSize, 2 * command.contentSize) else { return answer }
    let body = try JSONValue(parsing: answer.body).mappingRecords { record in
      .object(record.members.filter { $0.name != "columns" })
    }
    return RestAnswer(status: answer.status, head: answer.head, body: body.bytes)
  }

  /// A stored answer in the form to send; nil if it contains a record of a zone that the client may not see any more.
  func replay(_ answer: RestAnswer) throws -> RestAnswer? {
    guard !answer.body.isEmpty else { return answer }
    room = work.environment.answerSize - answer.body.count
    var (isHidden, isFilled) = (false, false)
    let shown = try JSONValue(parsing: answer.body)
    if try shown.contains({ try isHiddenValue($0) }) { return nil }
    let body = try shown.mappingRecords { shown in
      isHidden = try isHidden || stores.ledger.role(of: author.user, in: shown.zone) == nil
      guard !isHidden, !shown.isDeleted, !shown.hasColumns, room > 0, !command.isMinimal,
        let table = stores.schema.index(of: shown.table),
        let record = try stores.tables[table].record(shown.id), record.rev == shown.rev
      else { return .object(shown.members) }
      isFilled = true
      room -= record.size
      var writer = JSONWriter()
      text.records.write(record, created: shown.creator, columns: nil, to: &writer)
      return try JSONValue(parsing: writer.bytes)
    }
    if isHidden { return nil }
    return isFilled ? RestAnswer(status: answer.status, head: answer.head, body: body.bytes) : answer
  }

  /// Whether an object is a `unique-taken` problem that names a record the client may not see any more.
  private func isHiddenValue(_ json: JSONValue) throws -> Bool {
    guard json["code"]?.stringValue == ProblemCode.uniqueTaken.rawValue, let id = json["record"]?.stringValue
    else { return false }
    for table in stores.tables {
      if let zone = try table.zone(of: id) { return try stores.ledger.role(of: author.user, in: zone) == nil }
    }
    return false
  }
}

/// A record in a REST answer, or the short form of a deleted one.
private struct AnsweredRecord {
  let members: [JSONValue.Member]
  let table: String
  let id: String
  let zone: String
  let rev: Int64
  let creator: String?
  let hasColumns: Bool
  let isDeleted: Bool

  /// Nil for an object that is no record.
  init?(_ json: JSONValue) {
    guard let members = json.members, let table = json["table"]?.stringValue,
      let id = json["id"]?.stringValue, let zone = json["zone"]?.stringValue,
      let rev = json["rev"]?.integerValue
    else { return nil }
    self.members = members
    (self.table, self.id, self.zone, self.rev) = (table, id, zone, rev)
    creator = json["created_by_request_id"]?.stringValue
    (hasColumns, isDeleted) = (json["columns"] != nil, json["deleted"] != nil)
  }
}

extension JSONValue {
  /// Whether an object in the answer, at any depth, meets a condition.
  fileprivate func contains(_ condition: (JSONValue) throws -> Bool) rethrows -> Bool {
    switch self {
    case .array(let elements): return try elements.contains { try $0.contains(condition) }
    case .object(let members):
      return try condition(self) || members.contains { try $0.value.contains(condition) }
    default: return false
    }
  }

  /// The answer with each of its records replaced. Columns contain no records.
  fileprivate func mappingRecords(_ transform: (AnsweredRecord) throws -> JSONValue) rethrows -> JSONValue {
    if let record = AnsweredRecord(self) { return try transform(record) }
    switch self {
    case .array(let elements): return .array(try elements.map { try $0.mappingRecords(transform) })
    case .object(let members):
      return .object(
        try members.map { Member($0.name, try $0.value.mappingRecords(transform)) })
    default: return self
    }
  }
}
