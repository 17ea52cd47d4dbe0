import HoldfastService

/// A single byte range of a request. Source: RFC 9110, section 14.1.2.
enum ByteRange: Equatable {
  /// From a byte to another inclusive, or to the end.
  case from(Int64, through: Int64?)
  /// The last bytes, by count.
  case last(Int64)

  /// Parses the field `Range`. Nil if it is invalid, of another unit, or of several ranges; the whole content is then sent.
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

  /// The range within a content of `size` bytes; nil if it is empty.
  func bytes(of size: Int64) -> Range<Int64>? {
    switch self {
    case .from(let first, let last):
      return first < size ? first..<min(last ?? .max, size - 1) + 1 : nil
    case .last(let count):
      return count > 0 && size > 0 ? max(0, size - count)..<size : nil
    }
  }

  /// Parses digits. A number beyond Int64 becomes its maximum.
  private static func number(_ text: some StringProtocol) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return Int64(text) ?? .max
  }
}
