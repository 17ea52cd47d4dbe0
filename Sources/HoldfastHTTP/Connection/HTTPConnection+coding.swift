extension HTTPConnection {
  /// Decodes the request's body, if it is encoded and small.
  ///
  /// - Returns: the work for another thread; nil if the body is ready.
  /// - Throws: `Refusal`.
  func startDecoding() throws(Refusal) -> (@Sendable () -> Answer)? {
    guard let field = head?.headers["Content-Encoding"], !body.isEmpty else { return nil }
    let name = field.lowercased()
    if name == "identity" { return nil }
    guard let coding = ContentCoding(rawValue: name == "x-gzip" ? "gzip" : name) else {
      throw Refusal(status: 415)
    }
    do throws(ContentCodingError) {
      body = try coding.decode(body, limit: min(bodyLimit, Coder.inlineBytes))
    } catch {
      if error == .malformed { throw .malformed }
      if bodyLimit <= Coder.inlineBytes { throw .tooLarge }
      defer { body = [] }
      return { [body, bodyLimit] in
        do throws(ContentCodingError) {
          return .decoded(try coding.decode(body, limit: bodyLimit))
        } catch { return .failure(error == .tooLarge ? 413 : 400) }
      }
    }
    return nil
  }

  /// Reserves memory for a body of `size` bytes; false without room.
  func takeRoom(for size: Int) -> Bool {
    let more = size - HTTPLimits.smallBodyBytes - (room?.count ?? 0)
    if more <= 0 { return true }
    if let room { return room.grow(by: more) }
    room = core.contents.take(more, for: [payer ?? network])
    return room != nil
  }

  /// Records the coding that the client prefers. Removes codings from the entity tags of the request, for the handler.
  func readCodings() {
    accepted = head?.headers["Accept-Encoding"].flatMap { ContentCoding(accepted: $0) }
    codedTags = []
    for name in ["If-None-Match", "If-Match", "If-Range"] {
      guard let field = head?.headers[name], let plain = EntityTag.withoutCoding(field) else { continue }
      if name == "If-None-Match" { codedTags = EntityTag.List(field)?.tags.map(\.text) ?? [] }
      head?.headers.replace(name, with: plain)
    }
  }

  /// The coding of an answer; nil if it is sent as it is.
  func coding(of response: HTTPResponse) -> ContentCoding? { response.isCodable ? accepted : nil }

  /// An answer with the field that says that it depends on the accepted codings, and the tag that the client knows.
  func varied(_ response: HTTPResponse) -> HTTPResponse {
    let tag = response.index(of: "ETag")
    // The common case: a small answer without an ETag.
    guard tag != nil || response.isCodable else { return response }
    var response = response
    if !response.headers.contains(where: { $0.name == "Vary" && $0.value.contains("Accept-Encoding") }) {
      response.headers.append(("Vary", "Accept-Encoding"))
    }
    // Caches compare the ETag, so it must be that of the client's representation.
    if response.status == 304, let tag,
      let known = codedTags.first(where: { EntityTag.withoutCoding($0) == response.headers[tag].value })
    {
      response.headers[tag].value = known
    }
    return response
  }
}

extension HTTPResponse {
  /// The answer in a coding; unchanged if that makes it no smaller.
  func coded(by coding: ContentCoding) -> HTTPResponse {
    let plain = file?.bytes ?? self.body
    guard let body = coding.encode(plain), body.count < plain.count else { return self }
    var response = self
    (response.body, response.file) = (body, nil)
    response.headers.append(("Content-Encoding", coding.rawValue))
    if let tag = index(of: "ETag") {
      response.headers[tag].value = EntityTag.coded(headers[tag].value, by: coding)
    }
    return response
  }
}

extension HTTPResponse {
  /// Whether the content may be compressed: a text of some size that is neither encoded nor partial.
  fileprivate var isCodable: Bool {
    guard contentLength >= HTTPLimits.leastCodedBytes,
      file == nil || contentLength <= HTTPLimits.mostCodedFileBytes, status != 206,
      index(of: "Content-Encoding") == nil, let type = index(of: "Content-Type")
    else {
      return false
    }
    let essence = headers[type].value.prefix { $0 != ";" }
    return essence.hasPrefix("text/") || essence == "application/json" || essence.hasSuffix("+json")
  }

  /// The index of a header field set by the owner, with the name as in RFC 9110.
  fileprivate func index(of name: String) -> Int? { headers.firstIndex { $0.name == name } }
}
