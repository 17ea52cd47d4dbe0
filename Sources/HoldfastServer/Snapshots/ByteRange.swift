import HoldfastService

/// One range of bytes, as a request asks for it. Source: RFC 9110, section 14.1.2.
enum ByteRange: Equatable {
  /// From the first to the last byte, or to the end.
  case from(Int64, through: Int64?)
  /// So many bytes at the end.
  case last(Int64)

  /// Reads the field `Range`; nil when it is none, of another unit, or of several ranges: then all is sent.
  init?(_ field: String) {
    let parts = field.split(separator: "=", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
    let bounds = parts[1].filter { $0 != " " && $0 != "\t" }
      .split(separator: "-", omittingEmptySubsequences: false)
    guard bounds.count == 2 else { return nil }
    let (first, last) = (Self.number(bounds[0]), Self.number(bounds[1]))
    switch (first, last) {
    case (let first?, nil) where bounds[1].isEmpty: self = .from(first, through: nil)
    case (let first?, let last?) where first <= last: self = .from(first, through: last)
    case (nil, let last?) where bounds[0].isEmpty: self = .last(last)
    default: return nil
    }
  }

  /// The bytes of a content of `size`; nil when it has none of them.
  func bytes(of size: Int64) -> Range<Int64>? {
    switch self {
    case .from(let first, let last):
      return first < size ? first..<min(last ?? .max, size - 1) + 1 : nil
    case .last(let count):
      return count > 0 && size > 0 ? max(0, size - count)..<size : nil
    }
  }

  /// Digits alone; more than a file can have counts as the most.
  private static func number(_ text: some StringProtocol) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return Int64(text) ?? .max
  }
}
