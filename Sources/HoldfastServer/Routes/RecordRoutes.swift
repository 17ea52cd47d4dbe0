import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The endpoints that read records: PROTOCOL.md, section 9.
struct RecordRoutes {
  let api: API

  /// `GET /v1/tables/{table}/{id}`.
  func record(_ request: HTTPRequest, _ table: Int, _ id: String) throws -> Step {
    var rank: Value?
    let (found, history) = try api.read { reader in
      try reader.store.transaction {
        let (key, store) = try api.sender(of: request, reader)
        let parameters = try QueryParameters(request)
        try parameters.requireOnly("rank")
        let column = try parameters["rank"].map { try api.schema.tables[table].rankColumn($0) }
        let found = try store.records([id], of: table, for: key.user)[id]
        if case .live(let record, _) = found, let column {
          var ranks = PageRanks(column, of: [id], in: api.schema)
          rank = try ranks.rank(of: record, store)
        }
        return (found, store.history)
      }
    }
    let key = Footprint.Key(table: table, id: id)
    switch found {
    case nil: return .problem(Problem(.recordUnknown))
    case .live(let record, let creator):
      var writer = JSONWriter(capacity: 1024)
      api.records.write(record, created: creator, columns: nil, rank: rank, to: &writer)
      // The rank can change without a new `rev`, when other records move.
      let tag = rank == nil ? EntityTag(history.tag(rev: record.rev)) : Self.tag(of: writer.bytes)
      return .answer(try conditional(request, tag) { $0.rawValue(writer.bytes) })
    case .deleted(let tombstone):
      var writer = JSONWriter(capacity: 512)
      let problem = Problem(.recordDeleted)
      problem.write(to: &writer) { api.records.writeShortMembers(key, tombstone, to: &$0) }
      return .answer(.problem(problem, document: writer.bytes))
    }
  }

  /// `GET /v1/tables/{table}?ids=A,B`.
  func records(_ request: HTTPRequest, _ table: Int) throws -> Step {
    let body = try api.read { reader in
      try reader.store.transaction {
        let (key, store) = try api.sender(of: request, reader)
        let parameters = try QueryParameters(request)
        try parameters.requireOnly("ids")
        let ids = try WriteRoutes(api: api).ids(in: parameters)
        return try results(ids, of: table, for: key.user, store)
      }
    }
    return .answer(try conditional(request, Self.tag(of: body)) { $0.rawValue(body) })
  }

  static func tag(of body: [UInt8]) -> EntityTag {
    EntityTag(hexadecimal(ContentHash(of: [body]).bytes.prefix(16)))
  }

  /// Reads records in small groups, to bound memory. Ids beyond the size limit are answered with a problem.
  private func results(
    _ ids: [String], of table: Int, for user: String, _ store: any StoreReader
  ) throws -> [UInt8] {
    let limit = api.environment.answerSize
    var writer = JSONWriter(capacity: 4096)
    writer.beginObject()
    writer.key("results")
    writer.beginArray()
    var (done, next) = (0, 8)
    while done < ids.count, writer.count < limit {
      let some = ids[done..<min(done + next, ids.count)]
      let found = try store.records(Array(some), of: table, for: user)
      for id in some { write(found[id], Footprint.Key(table: table, id: id), to: &writer) }
      done += some.count
      // The number of records that probably fits in the remaining space.
      next = max(1, (limit - writer.count) / max(writer.count / done, 1))
    }
    for _ in ids[done...] {
      writer.beginObject()
      writer.key("status")
      writer.int64(Int64(ProblemCode.resultTooLarge.status))
      writer.key("problem")
      Problem(.resultTooLarge, "The answer is full: ask for this record again.").write(to: &writer)
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
    return writer.bytes
  }

  private func write(_ found: SeenRecord?, _ key: Footprint.Key, to writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("status")
    switch found {
    case .live(let record, let creator):
      writer.int64(200)
      writer.key("record")
      api.records.write(record, created: creator, columns: nil, to: &writer)
    case .deleted(let tombstone):
      writer.int64(410)
      writer.key("problem")
      Problem(.recordDeleted).write(to: &writer) {
        api.records.writeShortMembers(key, tombstone, to: &$0)
      }
    case nil:
      writer.int64(404)
      writer.key("problem")
      Problem(.recordUnknown).write(to: &writer)
    }
    writer.endObject()
  }

  /// An answer with an ETag, or 304 if the client's copy is current.
  private func conditional(
    _ request: HTTPRequest, _ tag: EntityTag, _ body: (inout JSONWriter) -> Void
  ) throws(Problem) -> HTTPResponse {
    let validators = HTTPResponse.Validators(tag: tag.opaque)
    if try Preconditions(request).match(tag: tag.opaque, seconds: nil) { return .notModified(validators) }
    var writer = JSONWriter(capacity: 1024)
    body(&writer)
    return .content(writer.bytes, validators)
  }
}
