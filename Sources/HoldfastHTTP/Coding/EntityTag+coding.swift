/// Entity tags of coded forms: a coded content is another representation, so its strong tag is another one (RFC 9110, section 8.8.3.3). The
/// coding stands at its end: `"5"` is `"5-gzip"` when it is coded.
extension EntityTag {
  /// The tag of a coded form.
  static func coded(_ tag: String, by coding: ContentCoding) -> String {
    tag.hasSuffix("\"") ? "\(tag.dropLast())-\(coding.rawValue)\"" : tag
  }

  /// A field with a list of tags as it would be of plain forms; nil when none in it is of a coded one.
  static func withoutCoding(_ field: String) -> String? {
    var plain = field
    for coding in ContentCoding.allCases {
      plain = plain.split(separator: "-\(coding.rawValue)\"", omittingEmptySubsequences: false).joined(
        separator: "\"")
    }
    return plain == field ? nil : plain
  }
}
