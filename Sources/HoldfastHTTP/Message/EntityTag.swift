/// An entity tag: RFC 9110, section 8.8.3.
public struct EntityTag: Equatable, Sendable {
  /// Whether it only says that two forms are as good as the same.
  public let isWeak: Bool
  /// What stands between the quotes.
  public let opaque: String

  /// A strong tag.
  public init(_ opaque: String) { self.init(isWeak: false, opaque: opaque) }

  private init(isWeak: Bool, opaque: String) {
    self.isWeak = isWeak
    self.opaque = opaque
  }

  /// As it stands in a head.
  public var text: String { (isWeak ? "W/" : "") + "\"\(opaque)\"" }

  /// What `If-Match` or `If-None-Match` name.
  public enum List: Equatable, Sendable {
    /// `*`: anything.
    case any
    /// One of these.
    case tags([EntityTag])

    /// Reads the value of such a field; nil when it has another form.
    public init?(_ field: String) {
      var rest = field[...].drop { $0 == " " || $0 == "\t" }
      if rest == "*" {
        self = .any
        return
      }
      var tags: [EntityTag] = []
      while !rest.isEmpty {
        let isWeak = rest.hasPrefix("W/")
        if isWeak { rest = rest.dropFirst(2) }
        guard rest.first == "\"" else { return nil }
        rest = rest.dropFirst()
        guard let end = rest.firstIndex(of: "\"") else { return nil }
        tags.append(EntityTag(isWeak: isWeak, opaque: String(rest[..<end])))
        rest = rest[rest.index(after: end)...].drop { $0 == " " || $0 == "\t" }
        if rest.isEmpty { break }
        guard rest.first == "," else { return nil }
        rest = rest.drop { $0 == "," || $0 == " " || $0 == "\t" }
      }
      if tags.isEmpty { return nil }
      self = .tags(tags)
    }

    /// The tags; none where anything is named.
    public var tags: [EntityTag] { if case .tags(let tags) = self { tags } else { [] } }
  }
}
