import HoldfastCore
import HoldfastHTTP
import HoldfastService

extension RecordRoutes {
  /// The format of a page of records.
  struct PageForm {
    let table: Int
    /// The indexes of the columns to show; nil for all.
    let columns: [Int]?
    /// The index of the position column whose ranks are shown; nil for none.
    let rank: Int?
    /// The size in bytes at which the page is full.
    let size: Int
    /// The reader, by user id.
    let user: String
  }

  /// The number of records in one read.
  private static let portion = 100

  /// A later page of a stored result: it has the ids of the first page's snapshot, with the current values.
  ///
  /// - Parameters:
  ///   - name: `TOKEN.N`: the result, and the number of ids on earlier pages.
  ///   - rank: the column whose ranks are shown.
  func page(
    _ name: String, of table: Int, rank: Int?, for user: String, _ preconditions: Preconditions,
    _ store: any StoreReader
  ) throws -> Step {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let start = Int(parts[1]), start >= 0, String(start) == parts[1] else {
      throw Problem(.invalidRequest, "page must be as the server gave it.")
    }
    let token = TokenHash(of: parts[0])
    return try store.moment {
      let definition = api.schema.tables[table]
      guard let head = try store.keptResult(token, of: user),
        (1...KeptResult.life).contains(head.expires - api.environment.now()),
        head.table == definition.name, start < head.count
      else { throw Problem(.pageExpired) }
      // The schema may have changed since the first page: a column has another name, or is no more.
      let columns = head.columns.map { $0.compactMap { definition.index(called: $0) } }
      if columns?.count != head.columns?.count { throw Problem(.pageExpired) }
      let visible = try store.visibleZones(of: user, publicZones: api.schema.publicZones)
      let validators = CollectionScope(visible, epoch: store.history.epoch).validators
      if try preconditions.match(tag: validators.tag, seconds: validators.seconds) {
        return .answer(.notModified(validators))
      }
      let end = min(start + head.limit, head.count)
      var ids: [String] = []
      for chunk in (start / KeptResult.chunk)...((end - 1) / KeptResult.chunk) {
        ids += try store.keptIDs(token, of: user, chunk: chunk)
      }
      let first = start % KeptResult.chunk
      guard ids.count >= first + end - start else { throw Problem(.pageExpired) }
      var writer = JSONWriter()
      writer.beginObject()
      writer.key("records")
      let form = PageForm(
        table: table, columns: columns, rank: rank, size: api.environment.answerSize, user: user)
      let written = try write(ids[first..<(first + end - start)], form, store, to: &writer)
      var next: String?
      if start + written < head.count {
        next = nextPage(of: table, String(parts[0]), start + written, rank: rank, to: &writer)
      }
      writer.endObject()
      return .answer(.content(writer.bytes, validators, next: next))
    }
  }

  /// Writes records in the order of `ids` until the page is full.
  ///
  /// - Returns: the number of records written; at least one if `ids` is not empty.
  func write(
    _ ids: ArraySlice<String>, _ form: PageForm, _ store: any StoreReader, to writer: inout JSONWriter
  ) throws -> Int {
    var written = 0
    writer.beginArray()
    defer { writer.endArray() }
    let limit = writer.count + form.size
    var ranks = form.rank.map { PageRanks($0, of: Array(ids), in: api.schema) }
    while written < ids.count {
      let portion = ids.dropFirst(written).prefix(Self.portion)
      let found = try store.records(Array(portion), of: form.table, for: form.user)
      for id in portion {
        if writer.count >= limit, written > 0 { return written }
        switch found[id] {
        case .live(let record, let creator):
          let rank = try ranks?.rank(of: record, store)
          if ranks != nil, rank == nil { return written }
          api.records.write(record, created: creator, columns: form.columns, rank: rank, to: &writer)
        case .deleted(let tombstone):
          api.records.writeShort(Footprint.Key(table: form.table, id: id), tombstone, to: &writer)
        case nil: writeGone(id, of: form.table, to: &writer)
        }
        written += 1
      }
    }
    return written
  }

  /// Writes a record that is no longer in a visible zone in the short form of a deleted one.
  func writeGone(_ id: String, of table: Int, to writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("table")
    writer.string(api.schema.tables[table].name)
    writer.key("id")
    writer.string(id)
    writer.key("deleted")
    writer.bool(true)
    writer.endObject()
  }

  /// Writes the URL of the next page, and returns it.
  func nextPage(
    of table: Int, _ token: String, _ start: Int, rank: Int?, to writer: inout JSONWriter
  ) -> String {
    let ranked = rank.map { "&rank=\(api.schema.tables[table].columns[$0].name)" } ?? ""
    let next = "/v1/tables/\(api.schema.tables[table].name)?page=\(token).\(start)\(ranked)"
    writer.key("next")
    writer.string(next)
    return next
  }
}
