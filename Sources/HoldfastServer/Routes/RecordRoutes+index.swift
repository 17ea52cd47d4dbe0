import HoldfastCore
import HoldfastHTTP
import HoldfastService
import Synchronization

extension RecordRoutes {
  /// `GET /v1/tables/{table}`: PROTOCOL.md, sections 9.5 and 9.6.
  ///
  /// - Parameter keepsResult: whether to store the result for later pages; false for HEAD.
  func index(_ request: HTTPRequest, table: Int, keepsResult: Bool) throws -> Step {
    try api.read { reader in
      let (key, store) = try api.sender(of: request, reader)
      let parameters = try QueryParameters(request)
      if let page = parameters["page"] {
        try parameters.requireOnly("page", "rank")
        let rank = try parameters["rank"].map { try api.schema.tables[table].rankColumn($0) }
        return try self.page(page, of: table, rank: rank, for: key.user, Preconditions(request), store)
      }
      let query = try RecordQuery(parameters, of: table, in: api.schema)
      return try store.moment {
        try answer(query, for: key.user, Preconditions(request), store, keepsResult: keepsResult)
      }
    }
  }

  private func answer(
    _ query: RecordQuery, for user: String, _ preconditions: Preconditions, _ store: any StoreReader,
    keepsResult: Bool
  ) throws -> Step {
    let visible = try store.visibleZones(of: user, publicZones: api.schema.publicZones)
    let scope = try CollectionScope(
      visible, of: query.table, in: api.schema, zone: query.zone, user: user, epoch: store.history.epoch)
    let validators = scope.validators
    if try preconditions.match(tag: validators.tag, seconds: validators.seconds) {
      return .answer(.notModified(validators))
    }
    if query.isWhole,
      let delta = try ZoneRoutes(api: api).delta(of: scope, query, for: user, preconditions, store)
    {
      return .answer(delta)
    }

    let limit = api.environment.resultLimit
    let ids = try store.ids(query, in: scope.zones.map(\.zone), limit: limit + 1)
    if ids.count > limit {
      throw Problem(.resultTooLarge, "There are more than \(limit).")
    }
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("records")
    let form = PageForm(
      table: query.table, columns: query.columns, rank: query.rank, size: api.environment.answerSize,
      user: user)
    let written = try write(ids.prefix(query.limit), form, store, to: &writer)
    if query.counts {
      writer.key("count")
      writer.int64(Int64(ids.count))
    }
    if written == ids.count || !keepsResult {
      writer.endObject()
      return .answer(.content(writer.bytes, validators))
    }
    let token = makeToken(random: api.environment.random)
    let next = nextPage(of: query.table, token, written, rank: query.rank, to: &writer)
    writer.endObject()
    let response = HTTPResponse.content(writer.bytes, validators, next: next)
    let table = api.schema.tables[query.table]
    let head = KeptResult.Head(
      table: table.name, columns: query.columns?.map { table.columns[$0].name }, limit: query.limit,
      count: ids.count, expires: api.environment.now() + KeptResult.life)
    let kept = KeptResult(token: TokenHash(of: token), user: user, head: head, ids: ids)
    let waiting = WaitingIDs(ids.count, in: api)
    if waiting.all > API.waitingIDLimit { throw Problem(.busy, retryAfter: 1) }
    return .write(.keepResult(kept)) { result in
      withExtendedLifetime(waiting) {
        switch result {
        case .success: response
        case .failure(let problem): .problem(problem)
        }
      }
    }
  }
}

/// Ids of a result that wait to be stored. They count as long as this exists: a step that is dropped counts no more.
private final class WaitingIDs: Sendable {
  private let api: API
  private let count: Int
  /// All that wait, with these.
  let all: Int

  init(_ count: Int, in api: API) {
    self.api = api
    self.count = count
    all = api.waitingIDs.add(count, ordering: .relaxed).newValue
  }

  deinit { api.waitingIDs.subtract(count, ordering: .relaxed) }
}

extension CollectionScope {
  /// The validators of the collection.
  var validators: HTTPResponse.Validators { .init(tag: state.text, seconds: age) }
}
