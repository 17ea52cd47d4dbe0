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

  /// A stored answer in the form to send. A record of a zone that the client may not see any more does not exist for it: the result of a
  /// request that wrote it becomes 404. A failure stays one, without the record that it shows.
  func replay(_ answer: RestAnswer) throws -> RestAnswer {
    guard !answer.body.isEmpty else { return answer }
    room = work.environment.answerSize - answer.body.count
    let stored = try JSONValue(parsing: answer.body)
    let body: JSONValue
    if answer.status >= 400 {
      body = try replayed(problem: stored)
    } else if command.form != .single, let results = stored["results"]?.elements {
      body = .object([.init("results", .array(try results.map(replayed(result:))))])
    } else if let record = AnsweredRecord(stored) {
      guard try isVisible(record) else {
        return text.answer(.results([Self.hidden(record)]), command.form, in: work.store.history)
      }
      body = try filled(record)
    } else {
      return answer
    }
    return body == stored ? answer : RestAnswer(status: answer.status, head: answer.head, body: body.bytes)
  }

  /// The result of one item.
  private func replayed(result: JSONValue) throws -> JSONValue {
    try result.mappingMembers { member in
      if member.name == "problem" { return try replayed(problem: member.value) }
      guard let record = AnsweredRecord(member.value) else { return member.value }
      guard try isVisible(record) else { return nil }
      return try filled(record)
    } ?? text.item(Self.hidden(AnsweredRecord(result["record"] ?? .null)))
  }

  /// A problem; that of an atomic request has those of its items in it.
  private func replayed(problem: JSONValue) throws -> JSONValue {
    if try isHidden(in: problem) { return problem.keeping(["type", "title", "status", "detail", "code"]) }
    return try problem.mappingMembers { member in
      if let record = AnsweredRecord(member.value) { return try filled(record) }
      guard member.name == "errors", let errors = member.value.elements else { return member.value }
      return .array(
        try errors.map { error in
          try error.mappingMembers { $0.name == "problem" ? try replayed(problem: $0.value) : $0.value }
            ?? error
        })
    } ?? problem
  }

  /// Whether a problem shows a record that the client may not see any more: the one that has a unique value, or the one of the item.
  private func isHidden(in problem: JSONValue) throws -> Bool {
    for json in [problem, problem["record"]] {
      if let record = json.flatMap(AnsweredRecord.init), try !isVisible(record) { return true }
    }
    guard problem["code"]?.stringValue == ProblemCode.uniqueTaken.rawValue,
      let id = problem["record"]?.stringValue
    else { return false }
    for table in stores.tables {
      if let zone = try table.zone(of: id) {
        return try stores.ledger.roleHere(of: author.user, in: zone) == nil
      }
    }
    return false
  }

  private func isVisible(_ record: AnsweredRecord) throws -> Bool {
    try stores.ledger.roleHere(of: author.user, in: record.zone) != nil
  }

  /// What stands for a record that the client may not see any more.
  private static func hidden(_ record: AnsweredRecord?) -> RestResult {
    record?.isDeleted == true ? .nothing : .failure(RestFailure(problem: Problem(.recordUnknown)))
  }

  /// A record with its columns, if they were not stored and it has not changed since.
  private func filled(_ shown: AnsweredRecord) throws -> JSONValue {
    guard !shown.isDeleted, !shown.hasColumns, room > 0, !command.isMinimal,
      let table = stores.schema.index(called: shown.table),
      let record = try stores.tables[table].record(shown.id), record.rev == shown.rev
    else { return .object(shown.members) }
    room -= record.size
    var writer = JSONWriter()
    text.records.write(record, created: shown.creator, columns: nil, to: &writer)
    return try JSONValue(parsing: writer.bytes)
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
  /// An object with other values of its members; nil if one of them is to be nothing.
  fileprivate func mappingMembers(_ transform: (Member) throws -> JSONValue?) rethrows -> JSONValue? {
    var changed: [Member] = []
    for member in members ?? [] {
      guard let value = try transform(member) else { return nil }
      changed.append(Member(member.name, value))
    }
    return .object(changed)
  }

  /// An object with the members of these names alone.
  fileprivate func keeping(_ names: [String]) -> JSONValue {
    .object((members ?? []).filter { names.contains($0.name) })
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
