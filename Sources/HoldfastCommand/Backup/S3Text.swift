import HoldfastCore
import HoldfastHTTP

/// The XML of a store's answer. Its elements are found by their names alone: those that are read have no attributes, and nothing of their own
/// name inside.
struct S3Text {
  private let text: Substring

  init(_ body: [UInt8]) { text = String(decoding: body, as: UTF8.self)[...] }

  /// The content of the first element of a name.
  func first(_ name: String) -> String? { elements(name, limit: 1).first }

  /// The contents of all elements of a name.
  func all(_ name: String) -> [String] { elements(name, limit: .max) }

  private func elements(_ name: String, limit: Int) -> [String] {
    var found: [String] = []
    var rest = text
    while found.count < limit, let start = rest.firstRange(of: "<\(name)") {
      rest = rest[start.upperBound...]
      // The name may go on, as in `KeyCount`.
      guard let first = rest.first, first == ">" || first == " ", let open = rest.firstIndex(of: ">") else {
        continue
      }
      rest = rest[open...].dropFirst()
      guard let end = rest.firstRange(of: "</\(name)>") else { break }
      found.append(String(rest[..<end.lowerBound]))
      rest = rest[end.upperBound...]
    }
    return found
  }

  /// A text of XML without its references.
  static func unescaped(_ text: String) -> String {
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")].reduce(text) {
      $0.replacing($1.0, with: $1.1)
    }
  }

  /// What a store says, for people: on one line, and not long.
  static func shown(_ text: String) -> String {
    String(unescaped(text).shown.prefix(300))
  }

  /// A name of a listing with `encoding-type=url`; nil for a wrong escape.
  static func decoded(_ text: String) -> String? { HTTPRequest.decoded(text[...]) }
}
