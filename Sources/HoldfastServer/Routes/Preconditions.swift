import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The preconditions of a GET: RFC 9110, section 13.1.
struct Preconditions {
  /// The tags of If-Match; empty if malformed, nil if absent.
  private let required: EntityTag.List?
  /// The tags of If-None-Match; empty if malformed, nil if absent.
  private let tags: EntityTag.List?
  /// The seconds of If-Modified-Since, which is ignored when If-None-Match is present.
  let modifiedSince: Int64?
  /// Whether the client accepts a delta in the `feed` format: RFC 3229.
  let takesFeed: Bool

  init(_ request: HTTPRequest) {
    required = request.headers["If-Match"].map { EntityTag.List($0) ?? .tags([]) }
    let header = request.headers["If-None-Match"]
    tags = header.map { EntityTag.List($0) ?? .tags([]) }
    modifiedSince = header == nil ? request.headers["If-Modified-Since"].flatMap(HTTPDate.seconds) : nil
    takesFeed = (request.headers["A-IM"] ?? "").split(separator: ",").contains { part in
      let name = part.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
      return name.lowercased() == "feed"
    }
  }

  /// The opaque values of the tags in If-None-Match.
  var known: [String] { tags?.tags.map(\.opaque) ?? [] }

  /// Whether the client's copy is current.
  ///
  /// - Parameters:
  ///   - tag: the resource's ETag without quotes.
  ///   - seconds: the resource's Last-Modified; nil if it has none.
  /// - Throws: `Problem.preconditionFailed` if If-Match does not match.
  func match(tag: String, seconds: Int64?) throws(Problem) -> Bool {
    switch required {
    case nil, .any: break
    case .tags(let tags):
      guard tags.contains(EntityTag(tag)) else { throw Problem(.preconditionFailed) }
    }
    if let tags { return tags == .any || known.contains(tag) }
    guard let modifiedSince, let seconds else { return false }
    return modifiedSince == seconds
  }

  /// The answer, of status 200, to a read that looks at no preconditions itself.
  func checked(_ response: HTTPResponse) -> HTTPResponse {
    guard required != nil || tags != nil else { return response }
    let tag = response.headers.first { $0.name == "ETag" }?.value
    // Endpoints with an ETag evaluated the preconditions themselves, except those of constant answers.
    switch required {
    case nil, .any: break
    case .tags(let tags):
      guard let tag, tags.contains(where: { $0.text == tag }) else {
        return .problem(Problem(.preconditionFailed))
      }
    }
    guard let tags,
      tags == .any || tag.map({ tags.tags.map { EntityTag($0.opaque).text }.contains($0) }) ?? false
    else { return response }
    let kept: TextSet = ["ETag", "Cache-Control", "Vary"]
    return HTTPResponse(status: 304, headers: response.headers.filter { kept.contains($0.name) })
  }
}
