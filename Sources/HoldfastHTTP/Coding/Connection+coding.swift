extension Connection {
  /// Takes the coding off the request's content.
  ///
  /// - Returns: the status of the refusal when that can't be; nil when all is well.
  func decodeBody() -> Int? {
    guard let field = headers["Content-Encoding"], !body.isEmpty else { return nil }
    let name = field.lowercased()
    if name == "identity" { return nil }
    guard let coding = ContentCoding(rawValue: name == "x-gzip" ? "gzip" : name) else { return 415 }
    let decoded: [UInt8]
    do { decoded = try coding.decode(body, limit: core.limits.maximumBodyBytes) } catch {
      return error == .tooLarge ? 413 : 400
    }
    let more = max(decoded.count - HTTPLimits.smallBodyBytes, 0) - room
    if more > 0 {
      guard core.takeRoom(more) else { return 503 }
      room += more
    }
    body = decoded
    return nil
  }

  /// Notes in which form the client wants the answer, and shows the handler its entity tags as they are of the plain form.
  func readCodings() {
    accepted = headers["Accept-Encoding"].flatMap { ContentCoding(accepted: $0) }
    codedTags = []
    for name in ["If-None-Match", "If-Match", "If-Range"] {
      guard let field = headers[name], let plain = EntityTag.withoutCoding(field) else { continue }
      if name == "If-None-Match" { codedTags = EntityTag.List(field)?.tags.map(\.text) ?? [] }
      headers.replace(name, with: plain)
    }
  }

  /// The answer in the form that the client wants.
  func coded(_ response: HTTPResponse) -> HTTPResponse {
    let tag = response.index(of: "ETag")
    let isLarge = response.body.count >= HTTPLimits.leastCodedBytes && response.isCodable
    // Most answers: small, and nobody keeps them.
    guard isLarge || tag != nil else { return response }
    var response = response
    if !response.headers.contains(where: { $0.name == "Vary" && $0.value.contains("Accept-Encoding") }) {
      response.headers.append(("Vary", "Accept-Encoding"))
    }
    if response.status == 304 {
      // The tag of the form that the client has: caches compare it.
      if let tag,
        let known = codedTags.first(where: { EntityTag.withoutCoding($0) == response.headers[tag].value })
      {
        response.headers[tag].value = known
      }
      return response
    }
    guard isLarge, let coding = accepted, let body = coding.encode(response.body),
      body.count < response.body.count
    else { return response }
    response.body = body
    response.headers.append(("Content-Encoding", coding.rawValue))
    if let tag { response.headers[tag].value = EntityTag.coded(response.headers[tag].value, by: coding) }
    return response
  }
}

extension HTTPResponse {
  /// Whether its content may be compressed: a text that no one has coded or cut yet.
  fileprivate var isCodable: Bool {
    guard status != 206, index(of: "Content-Encoding") == nil, let type = index(of: "Content-Type") else {
      return false
    }
    let essence = headers[type].value.prefix { $0 != ";" }
    return essence.hasPrefix("text/") || essence == "application/json" || essence.hasSuffix("+json")
  }

  /// Where a field is that the owner gave, with the name as RFC 9110 writes it.
  fileprivate func index(of name: String) -> Int? { headers.firstIndex { $0.name == name } }
}
