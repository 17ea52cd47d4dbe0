import HoldfastHTTP

/// What a GET says of the state that its sender has: RFC 9110, section 13.1.
struct Preconditions {
  /// The tags of If-None-Match. One that can't be read names none; nil when there is no such field.
  private let tags: EntityTag.List?
  /// The seconds of If-Modified-Since, which counts without If-None-Match alone.
  let modifiedSince: Int64?
  /// Whether a delta of the kind `feed` is taken: RFC 3229.
  let takesFeed: Bool

  init(_ request: HTTPRequest) {
    let header = request.headers["If-None-Match"]
    tags = header.map { EntityTag.List($0) ?? .tags([]) }
    modifiedSince = header == nil ? request.headers["If-Modified-Since"].flatMap(HTTPDate.seconds) : nil
    takesFeed = (request.headers["A-IM"] ?? "").split(separator: ",").contains { part in
      let name = part.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
      return name.lowercased() == "feed"
    }
  }

  /// The opaque texts of the tags that the sender has.
  var known: [String] { tags?.tags.map(\.opaque) ?? [] }

  /// Whether the sender has what it would be sent.
  ///
  /// - Parameters:
  ///   - tag: the text of its ETag.
  ///   - seconds: those of its Last-Modified; nil for what has none.
  func match(tag: String, seconds: Int64?) -> Bool {
    if let tags { return tags == .any || known.contains(tag) }
    guard let modifiedSince, let seconds else { return false }
    return modifiedSince == seconds
  }
}
