import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The endpoints that write records: PROTOCOL.md, section 9.
struct WriteRoutes {
  let api: API

  /// The target of a REST write.
  enum RestTarget {
    case table(Int)
    case record(Int, String)
    case restoration(Int, String)
    case resolution(String)
    case batch
  }

  /// The maximum length of a request's id in bytes.
  static let requestIDLimit = 128
  /// The maximum number of ids in a query.
  static let queryIDLimit = 200

  /// A REST request that writes: PROTOCOL.md, sections 9.2 to 9.4.
  func change(_ request: HTTPRequest, at target: RestTarget) throws -> Step {
    // The sender is identified before the body is parsed.
    let key = try api.writer(of: request)
    let id = try requestID(request)
    let condition = try condition(request, at: target)
    if request.method != "DELETE" {
      try api.requireJSON(request, orPatch: request.method == "PATCH")
    }
    let (form, items) = try content(request, at: target, condition)
    if let scope = key.use.scope {
      for case .success(let item) in items {
        try scope.check(table: item.operation.table, isDeletion: item.verb == .delete, in: api.schema)
      }
    }
    let operations = items.lazy.compactMap { try? $0.get().operation }
    try api.countNames(in: operations, by: key)
    var command = RestCommand(
      key: key, request: id.map { RequestKey(id: $0, fingerprint: requestFingerprint(request)) },
      form: form, items: items, contentSize: request.body.count)
    command.isMinimal = prefersMinimal(request) && form != .single
    return DirectoryRoutes(api: api).knowing(api.names(in: operations)) { [self, command] unreachable in
      var command = command
      command.unreachable = unreachable
      return apply(command)
    }
  }

  private func apply(_ command: RestCommand) -> Step {
    let (key, isMinimal) = (command.key, command.isMinimal)
    return .write(.rest(command)) { [self] result in
      switch result {
      case .success(.rest(let answer, let isReplay)):
        var response = HTTPResponse(answer, isReplay: isReplay)
        // The answer that is repeated may have been to a request without the preference.
        if isMinimal, answer.status == 200, !isReplay || !Self.showsColumns(answer.body) {
          response.headers.append(("Preference-Applied", "return=minimal"))
        }
        return response
      case .success: return .problem(Problem(.internalError))
      case .failure(let problem):
        if problem.code == .tokenInvalid { api.keys.remove(key.token) }
        return .problem(problem)
      }
    }
  }

  /// Whether the answer to a request to many records has values of any of them.
  private static func showsColumns(_ body: [UInt8]) -> Bool {
    let results = (try? JSONValue(parsing: body))?["results"]?.elements ?? []
    return results.contains { $0["record"]?["columns"] != nil || $0["problem"]?["record"]?["columns"] != nil }
  }

  private func content(
    _ request: HTTPRequest, at target: RestTarget, _ condition: RestItem.Condition?
  ) throws -> RestReader.Content {
    var random = RandomWords(api.environment.random)
    let reader = RestReader(schema: api.schema) {
      Identifier.make(milliseconds: api.environment.now(), random: random.pair())
    }
    let body = request.body
    let parameters = try QueryParameters(request)
    if case .table = target, request.method == "DELETE" {
      try parameters.requireOnly("ids", "atomic")
    } else {
      try parameters.requireOnly()
    }
    switch (target, request.method) {
    case (.batch, _): return try reader.batch(body)
    case (.restoration(let table, let id), _): return try reader.one(.restore, table, id, nil, body)
    case (.resolution(let id), _): return try reader.resolution(of: id, body)
    case (.table(let table), "POST"): return try reader.creations(in: table, body)
    case (.table(let table), "PATCH"): return try reader.updates(in: table, body)
    case (.table(let table), _):
      return (
        try isAtomic(parameters) ? .atomic : .each, reader.deletions(in: table, try ids(in: parameters))
      )
    case (.record(let table, let id), "PATCH"):
      return try reader.one(.update, table, id, condition, body)
    case (.record(let table, let id), "PUT"): return try reader.one(.replace, table, id, condition, body)
    case (.record(let table, let id), _): return (.single, reader.deletions(in: table, [id], condition))
    }
  }

  /// The ids in a query.
  ///
  /// - Throws: `Problem.invalidRequest` if there are none or too many.
  func ids(in parameters: QueryParameters) throws(Problem) -> [String] {
    guard let ids = parameters.list("ids"), ids != [""] else {
      throw Problem(.invalidRequest, "ids must name records, with commas between.")
    }
    if ids.count > Self.queryIDLimit {
      throw Problem(.invalidRequest, "ids names more than \(Self.queryIDLimit) records.")
    }
    return ids
  }

  private func isAtomic(_ parameters: QueryParameters) throws(Problem) -> Bool {
    switch parameters["atomic"] {
    case nil, "false": return false
    case "true": return true
    default: throw Problem(.invalidRequest, "atomic is true or false.")
    }
  }

  // MARK: Header fields

  private func requestID(_ request: HTTPRequest) throws(Problem) -> String? {
    // Each field has one id, which may contain a comma: a field that is sent twice is no list.
    let ids = ["X-Client-Request-ID", "Idempotency-Key"].flatMap { request.headers.values(of: $0) }
    guard let id = ids.first else { return nil }
    if ids.contains(where: { TextKey($0) != TextKey(id) }) {
      throw Problem(.invalidRequest, "X-Client-Request-ID and Idempotency-Key name two requests.")
    }
    guard (1...Self.requestIDLimit).contains(id.utf8.count),
      id.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
    else {
      throw Problem(
        .invalidRequest, "The id of a request has 1 to \(Self.requestIDLimit) printable ASCII characters.")
    }
    return id
  }

  /// Whether the sender wants to be told no more than is new to it: RFC 7240, section 4.2.
  private func prefersMinimal(_ request: HTTPRequest) -> Bool {
    guard let preferences = request.headers["Prefer"] else { return false }
    return preferences.split(separator: ",").contains { preference in
      preference.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased() == "return=minimal"
    }
  }

  /// The condition in If-Match or If-None-Match.
  ///
  /// - Throws: `Problem.invalidRequest` for a precondition that can't be evaluated. Ignoring it could write what the client wants to
  ///   prevent.
  private func condition(_ request: HTTPRequest, at target: RestTarget) throws(Problem) -> RestItem.Condition?
  {
    for name in ["If-Unmodified-Since", "If-Modified-Since"] where request.headers[name] != nil {
      throw Problem(.invalidRequest, "\(name) says nothing of a write: records have no dates. Say If-Match.")
    }
    let (match, none) = (request.headers["If-Match"], request.headers["If-None-Match"])
    if match == nil, none == nil { return nil }
    guard case .record = target else {
      throw Problem(.invalidRequest, "A precondition is said at the address of a record, or in if_match.")
    }
    if let match {
      guard none == nil, let condition = EntityTag.List(match) else {
        throw Problem(
          .invalidRequest, "If-Match takes the ETags of records, or *, and no If-None-Match beside it.")
      }
      switch condition {
      case .any: return .present
      case .tags(let tags): return .tags(tags.filter { !$0.isWeak }.map(\.opaque))
      }
    }
    guard none.flatMap({ EntityTag.List($0) }) == .any, request.method == "PUT" else {
      throw Problem(.invalidRequest, "If-None-Match is * here, and of PUT alone.")
    }
    return .absent
  }
}

extension HTTPResponse {
  /// The answer to a REST write.
  init(_ answer: RestAnswer, isReplay: Bool) {
    var head = answer.head
    var headers = head.withUTF8 { bytes in
      bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
        line.firstIndex(of: UInt8(ascii: ":")).map { colon in
          (
            name: String(decoding: line[..<colon], as: UTF8.self),
            value: String(decoding: line[colon...].dropFirst(2), as: UTF8.self)
          )
        }
      }
    }
    headers.append(("Cache-Control", "no-store"))
    if isReplay { headers.append(("Idempotency-Replayed", "true")) }
    self.init(status: answer.status, headers: headers, body: answer.body)
    if answer.status >= 400 {
      reason =
        (try? JSONValue(parsing: answer.body))?["code"]?.stringValue.flatMap(ProblemCode.init)?.rawValue
    }
  }
}
