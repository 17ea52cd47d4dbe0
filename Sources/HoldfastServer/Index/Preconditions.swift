import HoldfastHTTP

/// What a GET says of the state that its sender has: RFC 9110, section 13.1.
struct Preconditions {
  /// The opaque texts of If-None-Match; nil when there is none.
  private let tags: [String]?
  private let matchesAny: Bool
  /// The seconds of If-Modified-Since, which counts without If-None-Match alone.
  let modifiedSince: Int64?
  /// Whether a delta of the kind `feed` is taken: RFC 3229.
  let takesFeed: Bool

  init(_ request: HTTPRequest) {
    let header = request.headers["If-None-Match"]
    matchesAny = header?.filter { $0 != " " && $0 != "\t" } == "*"
    tags = header.map(Self.tags)
    modifiedSince = header == nil ? request.headers["If-Modified-Since"].flatMap(HTTPDate.seconds) : nil
    takesFeed = (request.headers["A-IM"] ?? "").split(separator: ",").contains { part in
      let name = part.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
      return name.lowercased() == "feed"
    }
  }

  /// The opaque texts that the sender has, as they were sent and without what compression puts behind them.
  var known: [String] {
    (tags ?? []).flatMap { tag in
      [tag] + ["-gzip", "-zstd"].filter { tag.hasSuffix($0) }.map { String(tag.dropLast($0.count)) }
    }
  }

  /// Whether the sender has what it would be sent.
  ///
  /// - Parameters:
  ///   - tag: the text of its ETag.
  ///   - seconds: those of its Last-Modified; nil for what has none.
  func match(tag: String, seconds: Int64?) -> Bool {
    if tags != nil { return matchesAny || known.contains(tag) }
    guard let modifiedSince, let seconds else { return false }
    return modifiedSince == seconds
  }

  /// The opaque texts of a list of entity tags, weak ones like strong ones. What is none is passed over.
  private static func tags(_ header: String) -> [String] {
    var tags: [String] = []
    var rest = Substring(header).utf8
    while let start = rest.firstIndex(of: UInt8(ascii: "\"")) {
      let text = rest[start...].dropFirst()
      guard let end = text.firstIndex(of: UInt8(ascii: "\"")) else { break }
      tags.append(String(Substring(text[..<end])))
      rest = text[end...].dropFirst()
    }
    return tags
  }
}
