import HoldfastCore
import HoldfastHTTP

extension API {
  /// `GET /v1/tables/{table}/{id}`.
  func record(_ request: HTTPRequest, _ table: Int, _ id: String) throws -> Step {
    let found = try read { reader in
      try reader.store.transaction {
        let user = try device(of: request, reader).key.user
        return try reader.store.records([id], of: table, for: user)[id]
      }
    }
    let key = Expectation.Key(table: table, id: id)
    switch found {
    case nil: return .problem(Problem(.recordUnknown))
    case .live(let record, let creator):
      let tag = EntityTag(rev: record.rev)
      return .answer(
        try conditional(request, isMatched: { $0.rev == record.rev }, tag.text) {
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
    let ids = try self.ids(of: request)
    let found = try read { reader in
      try reader.store.transaction {
        let user = try device(of: request, reader).key.user
        return try reader.store.records(ids, of: table, for: user)
      }
    }
    var writer = JSONWriter(capacity: 512 * ids.count)
    writer.beginObject()
    writer.key("results")
    writer.beginArray()
    for id in ids { write(found[id], Expectation.Key(table: table, id: id), to: &writer) }
    writer.endArray()
    writer.endObject()
    let body = writer.bytes
    let tag = "\"\(hexadecimal(contentHash(body).prefix(16)))\""
    return .answer(
      try conditional(request, isMatched: { $0.isSame(as: tag) }, tag) { $0.rawValue(body) })
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
    _ request: HTTPRequest, isMatched: (EntityTag) -> Bool, _ tag: String,
    _ body: (inout JSONWriter) -> Void
  ) throws -> HTTPResponse {
    let headers = [
      ("ETag", tag), ("Cache-Control", "private, no-cache"), ("Vary", "Authorization, Accept-Encoding, A-IM"),
    ]
    if let header = request.headers["If-None-Match"] {
      guard let condition = EntityTag.condition(header) else {
        throw Problem(.invalidRequest, "If-None-Match takes ETags, or *.")
      }
      switch condition {
      case .any: return HTTPResponse(status: 304, headers: headers)
      case .tags(let tags):
        if tags.contains(where: isMatched) { return HTTPResponse(status: 304, headers: headers) }
      }
    }
    var writer = JSONWriter(capacity: 1024)
    body(&writer)
    return HTTPResponse(
      status: 200, headers: headers + [("Content-Type", "application/json")], body: writer.bytes)
  }
}
