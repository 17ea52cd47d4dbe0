/// Entity tags of coded forms: a coded content is another representation, so its strong tag is another one (RFC 9110, section 8.8.3.3). The
/// coding stands at its end: `"5"` is `"5-gzip"` when it is coded.
extension EntityTag {
  /// The tag of a coded form.
  static func coded(_ tag: String, by coding: ContentCoding) -> String {
    tag.hasSuffix("\"") ? "\(tag.dropLast())-\(coding.rawValue)\"" : tag
  }

  /// A field with a list of tags as it would be of plain forms; nil when none in it is of a coded one.
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
