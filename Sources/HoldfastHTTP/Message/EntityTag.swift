/// An entity tag: RFC 9110, section 8.8.3.
public struct EntityTag: Equatable, Sendable {
  /// Whether the tag is weak: it identifies semantically equivalent representations.
  public let isWeak: Bool
  /// The text between the quotes.
  public let opaque: String

  /// Creates a strong tag.
  public init(_ opaque: String) { self.init(isWeak: false, opaque: opaque) }

  private init(isWeak: Bool, opaque: String) {
    self.isWeak = isWeak
    self.opaque = opaque
  }

  /// The field value.
  public var text: String { (isWeak ? "W/" : "") + "\"\(opaque)\"" }

  /// The value of `If-Match` or `If-None-Match`.
  public enum List: Equatable, Sendable {
    /// `*`: any representation.
    case any
    /// One of these tags.
    case tags([EntityTag])

    /// Parses a field value; nil if malformed.
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

    /// The tags; empty for `*`.
    public var tags: [EntityTag] { if case .tags(let tags) = self { tags } else { [] } }
  }
}
