/// An entity tag: RFC 9110, section 8.8.3.
struct EntityTag: Equatable {
  let isWeak: Bool
  /// What stands between the quotes.
  let opaque: Substring

  /// The tag of a record.
  init(rev: Int64) {
    isWeak = false
    opaque = Substring(String(rev))
  }

  private init(isWeak: Bool, opaque: Substring) {
    self.isWeak = isWeak
    self.opaque = opaque
  }

  /// As it stands in a head.
  var text: String { (isWeak ? "W/" : "") + "\"\(opaque)\"" }

  /// The rev that the tag of a record names, whatever coding its answer had; nil for what is no tag of a record.
  var rev: Int64? {
    var text = opaque
    for suffix in ["-gzip", "-zstd"] where text.hasSuffix(suffix) {
      text = text.dropLast(suffix.count)
      break
    }
    guard let rev = Int64(text), String(rev) == text else { return nil }
    return rev
  }

  /// Whether it is a tag as it was sent, whatever coding that answer had, by weak comparison.
  func isSame(as text: String) -> Bool {
    let sent = text.dropFirst().dropLast()
    return ["", "-gzip", "-zstd"].contains { opaque == sent + $0 }
  }

  /// What a condition names.
  enum Condition: Equatable {
    /// `*`: anything.
    case any
    case tags([EntityTag])
  }

  /// Reads the value of If-Match or If-None-Match; nil when it has another form.
  static func condition(_ text: String) -> Condition? {
    var rest = text[...].drop { $0 == " " || $0 == "\t" }
    if rest == "*" { return .any }
    var tags: [EntityTag] = []
    while !rest.isEmpty {
      let isWeak = rest.hasPrefix("W/")
      if isWeak { rest = rest.dropFirst(2) }
      guard rest.first == "\"" else { return nil }
      rest = rest.dropFirst()
      guard let end = rest.firstIndex(of: "\"") else { return nil }
      tags.append(EntityTag(isWeak: isWeak, opaque: rest[..<end]))
      rest = rest[rest.index(after: end)...].drop { $0 == " " || $0 == "\t" }
      if rest.isEmpty { break }
      guard rest.first == "," else { return nil }
      rest = rest.drop { $0 == "," || $0 == " " || $0 == "\t" }
    }
    return tags.isEmpty ? nil : .tags(tags)
  }
}
