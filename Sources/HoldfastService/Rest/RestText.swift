package import HoldfastCore

/// Encodes the answers to REST writes.
struct RestText: Sendable {
  let records: RecordWriter
  private let schema: SyncSchema

  init(_ schema: SyncSchema) {
    self.schema = schema
    records = RecordWriter(schema)
  }

  /// The answer of a request.
  func answer(_ outcome: RestOutcome, _ form: RestCommand.Form, in history: History) -> RestAnswer {
    switch outcome {
    case .refused(let failures): return refused(failures)
    case .results(let results):
      if form == .single, let result = results.first { return single(result, history) }
      var progress = RestProgress()
      add(results, to: &progress)
      return answer(progress)
    }
  }

  /// The answer of a request with independent items, when all are done.
  func answer(_ progress: RestProgress) -> RestAnswer {
    RestAnswer(
      status: 200, head: Self.json,
      body: Array("{\"results\":[".utf8) + progress.results + Array("]}".utf8))
  }

  /// Appends the results of finished items.
  func add(_ results: [RestResult], to progress: inout RestProgress) {
    if results.isEmpty { return }
    progress.done += results.count
    var writer = JSONWriter(capacity: 256 * results.count)
    for result in results { write(result, to: &writer) }
    if !progress.results.isEmpty { progress.results.append(UInt8(ascii: ",")) }
    writer.withBytes { progress.results.append(contentsOf: $0) }
  }

  /// The result of one item as it stands in an answer.
  func item(_ result: RestResult) throws -> JSONValue {
    var writer = JSONWriter()
    write(result, to: &writer)
    return try JSONValue(parsing: writer.bytes)
  }

  private static let json = "Content-Type: application/json"
  private static let problem = "Content-Type: application/problem+json"

  private func single(_ result: RestResult, _ history: History) -> RestAnswer {
    var writer = JSONWriter(capacity: 1024)
    switch result {
    case .record(let shown, let isNew):
      write(shown, to: &writer)
      let record = shown.record
      var head = "\(Self.json)\nETag: \"\(history.tag(rev: record.rev))\""
      if isNew {
        let table = schema.tables[record.table].name
        head += "\nLocation: /v1/tables/\(table)/\(record.id.percentEncoded)"
      }
      return RestAnswer(status: isNew ? 201 : 200, head: head, body: writer.bytes)
    case .deleted(let key, let tombstone):
      records.writeShort(key, tombstone, to: &writer)
      return RestAnswer(status: 200, head: Self.json, body: writer.bytes)
    case .nothing: return RestAnswer(status: 204, head: "", body: [])
    case .failure(let failure):
      write(failure, to: &writer)
      return RestAnswer(status: failure.problem.code.status, head: Self.problem, body: writer.bytes)
    }
  }

  private func write(_ result: RestResult, to writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("status")
    switch result {
    case .record(let shown, let isNew):
      writer.int64(isNew ? 201 : 200)
      writer.key("record")
      write(shown, to: &writer)
    case .deleted(let key, let tombstone):
      writer.int64(200)
      writer.key("record")
      records.writeShort(key, tombstone, to: &writer)
    case .nothing: writer.int64(204)
    case .failure(let failure):
      writer.int64(Int64(failure.problem.code.status))
      writer.key("problem")
      write(failure, to: &writer)
    }
    writer.endObject()
  }

  private func write(_ shown: ShownRecord, to writer: inout JSONWriter) {
    if shown.isWhole {
      records.write(shown.record, created: shown.creator, columns: nil, to: &writer)
    } else {
      records.writeHead(of: shown.record, created: shown.creator, to: &writer)
    }
  }

  private func write(_ failure: RestFailure, to writer: inout JSONWriter) {
    failure.problem.write(to: &writer) { writer in
      switch failure.now {
      case .record(let shown):
        writer.key("record")
        write(shown, to: &writer)
      case .deleted(let key, let tombstone): records.writeShortMembers(key, tombstone, to: &writer)
      case nil: break
      }
    }
  }

  private func refused(_ failures: [(index: Int, failure: RestFailure)]) -> RestAnswer {
    let isExpectation = failures.allSatisfy { $0.failure.problem.code == .preconditionFailed }
    let problem = Problem(isExpectation ? .preconditionFailed : .batchRefused)
    var writer = JSONWriter(capacity: 1024)
    problem.write(to: &writer) { writer in
      writer.key("errors")
      writer.beginArray()
      for (index, failure) in failures {
        writer.beginObject()
        writer.key("index")
        writer.int64(Int64(index))
        writer.key("problem")
        write(failure, to: &writer)
        writer.endObject()
      }
      writer.endArray()
    }
    return RestAnswer(status: problem.code.status, head: Self.problem, body: writer.bytes)
  }
}

extension RecordWriter {
  /// Writes the short form of a deleted record.
  package func writeShort(_ key: Footprint.Key, _ tombstone: Tombstone, to writer: inout JSONWriter) {
    writer.beginObject()
    writeShortMembers(key, tombstone, to: &writer)
    writer.endObject()
  }

  /// Writes the members of that form into an open object.
  package func writeShortMembers(_ key: Footprint.Key, _ tombstone: Tombstone, to writer: inout JSONWriter) {
    writeShortMembers(
      table: key.table, id: key.id, zone: tombstone.zone, rev: tombstone.rev, seq: tombstone.seq ?? 0,
      stamp: tombstone.stamp, to: &writer)
  }
}
