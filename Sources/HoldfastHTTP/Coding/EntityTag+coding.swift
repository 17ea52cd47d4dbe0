/// Entity tags of encoded representations. An encoded content is another representation, so it needs another strong tag (RFC 9110, section
/// 8.8.3.3). The coding is appended: `"5"` becomes `"5-gzip"`.
extension EntityTag {
  /// The tag of an encoded representation.
  static func coded(_ tag: String, by coding: ContentCoding) -> String {
    tag.hasSuffix("\"") ? "\(tag.dropLast())-\(coding.rawValue)\"" : tag
  }

  /// A list of tags with the codings removed; nil if no tag has one.
  static func withoutCoding(_ field: String) -> String? {
    var plain: [UInt8] = []
    var isCoded = false
    for byte in field.utf8 {
      if byte == UInt8(ascii: "\""), let ending = endings.first(where: { plain.suffix($0.count) == $0 }) {
        plain.removeLast(ending.count)
        isCoded = true
      }
      plain.append(byte)
    }
    return isCoded ? String(decoding: plain, as: UTF8.self) : nil
  }

  private static let endings = ContentCoding.allCases.map { ArraySlice("-\($0.rawValue)".utf8) }
}
