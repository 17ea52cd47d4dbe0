import HoldfastCore
import HoldfastHTTP

extension API {
  /// `GET /v1/tables/{table}/{id}`.
  func record(_ request: HTTPRequest, _ table: Int, _ id: String) throws -> Step {
    let found = try read { reader in
      try reader.store.transaction {
        let (key, store) = try sender(of: request, reader)
        return try store.records([id], of: table, for: key.user)[id]
      }
    }
    let key = Expectation.Key(table: table, id: id)
    switch found {
    case nil: return .problem(Problem(.recordUnknown))
    case .live(let record, let creator):
      let tag = EntityTag(rev: record.rev)
      return .answer(
        conditional(request, tag) {
          records.write(record, created: creator, columns: nil, to: &$0)
        })
    case .deleted(let tombstone):
      var writer = JSONWriter(capacity: 512)
      let problem = Problem(.recordDeleted)
      problem.write(to: &writer) { records.writeShortMembers(key, tombstone, to: &$0) }
      return .answer(.problem(problem, document: writer.bytes))
    }
  }

  /// `GET /v1/tables/{table}?ids=A,B`.
  func records(_ request: HTTPRequest, _ table: Int) throws -> Step {
    let body = try read { reader in
      try reader.store.transaction {
        let (key, store) = try sender(of: request, reader)
        try QueryParameters(request).requireOnly("ids")
        let ids = try self.ids(of: request)
        return try results(ids, of: table, for: key.user, store)
      }
    }
    let tag = EntityTag(hexadecimal(ContentHash(of: [body]).bytes.prefix(16)))
    return .answer(
      conditional(request, tag) { $0.rawValue(body) })
  }

  /// Reads some records at a time: many large ones would fill the memory. Those behind the limit are to be asked for again.
  private func results(
    _ ids: [String], of table: Int, for user: String, _ store: any StoreReader
  ) throws -> [UInt8] {
    let limit = environment.answerSize
    var writer = JSONWriter(capacity: 4096)
    writer.beginObject()
    writer.key("results")
    writer.beginArray()
    var (done, next) = (0, 8)
    while done < ids.count, writer.count < limit {
      let some = ids[done..<min(done + next, ids.count)]
      let found = try store.records(Array(some), of: table, for: user)
      for id in some { write(found[id], Expectation.Key(table: table, id: id), to: &writer) }
      done += some.count
      // As many as are likely to fill the rest.
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

  private func write(_ found: SeenRecord?, _ key: Expectation.Key, to writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("status")
    switch found {
    case .live(let record, let creator):
      writer.int64(200)
      writer.key("record")
      records.write(record, created: creator, columns: nil, to: &writer)
    case .deleted(let tombstone):
      writer.int64(410)
      writer.key("problem")
      Problem(.recordDeleted).write(to: &writer) {
        records.writeShortMembers(key, tombstone, to: &$0)
      }
    case nil:
      writer.int64(404)
      writer.key("problem")
      Problem(.recordUnknown).write(to: &writer)
    }
    writer.endObject()
  }

  /// An answer with an ETag; without its content for who has it already.
  private func conditional(
    _ request: HTTPRequest, _ tag: EntityTag, _ body: (inout JSONWriter) -> Void
  ) -> HTTPResponse {
    let headers = [
      ("ETag", tag.text), ("Cache-Control", "private, no-cache"),
      ("Vary", "Authorization, Accept-Encoding, A-IM"),
    ]
    if Preconditions(request).match(tag: tag.opaque, seconds: nil) {
      return HTTPResponse(status: 304, headers: headers)
    }
    var writer = JSONWriter(capacity: 1024)
    body(&writer)
    return HTTPResponse(
      status: 200, headers: headers + [("Content-Type", "application/json")], body: writer.bytes)
  }
}
