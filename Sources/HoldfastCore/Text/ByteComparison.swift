// `String` compares by canonical equivalence: "é" as one scalar and as two are equal, and one key of a dictionary. Both databases and the
// wire compare bytes. This file makes its module compare bytes too. Other modules have a symbolic link to it, because the declarations must
// be internal.
//
// A declaration of the module shadows that of the standard library wherever the static type is known, even in synthesized `Hashable`
// conformances. Exceptions: comparing an array of optionals, or an optional array, with a literal. Dictionaries and sets use the standard
// library's `==`, so those of `String` do not compile; use `TextMap` and `TextSet`. A test scans the sources for the rest.

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension String {
  /// Whether both have the same bytes.
  static func == (left: String, right: String) -> Bool {
    let isSame = left.utf8.withContiguousStorageIfAvailable { left in
      right.utf8.withContiguousStorageIfAvailable { right in
        guard left.count == right.count, let first = left.baseAddress, let second = right.baseAddress else {
          return left.count == right.count
        }
        return memcmp(first, second, left.count) == 0
      }
    }
    return (isSame ?? nil) ?? left.utf8.elementsEqual(right.utf8)
  }

  static func != (left: String, right: String) -> Bool { !(left == right) }
  static func ~= (left: String, right: String) -> Bool { left == right }

  /// Whether `left` precedes `right` in byte order, which both databases use.
  static func < (left: String, right: String) -> Bool {
    let isLess = left.utf8.withContiguousStorageIfAvailable { left in
      right.utf8.withContiguousStorageIfAvailable { right in
        guard let first = left.baseAddress, let second = right.baseAddress else {
          return left.count < right.count
        }
        let order = memcmp(first, second, Swift.min(left.count, right.count))
        return order == 0 ? left.count < right.count : order < 0
      }
    }
    return (isLess ?? nil) ?? left.utf8.lexicographicallyPrecedes(right.utf8)
  }
  static func > (left: String, right: String) -> Bool { right < left }
  static func <= (left: String, right: String) -> Bool { !(right < left) }
  static func >= (left: String, right: String) -> Bool { !(left < right) }

  /// Whether its bytes begin with those of `prefix`.
  func hasPrefix(_ prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }

  /// Whether its bytes end with those of `suffix`.
  func hasSuffix(_ suffix: String) -> Bool { utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) }

  /// Splits at a separator. Works on scalars: "'" followed by a combining accent is one `Character`, in which the quote would not be found.
  func split(separator: Unicode.Scalar, maxSplits: Int = .max, omittingEmptySubsequences: Bool = true)
    -> [Substring]
  {
    self[...].split(
      separator: separator, maxSplits: maxSplits, omittingEmptySubsequences: omittingEmptySubsequences)
  }

  /// The first index of a scalar.
  func firstIndex(of scalar: Unicode.Scalar) -> Index? { unicodeScalars.firstIndex(of: scalar) }

  /// The last index of a scalar.
  func lastIndex(of scalar: Unicode.Scalar) -> Index? { unicodeScalars.lastIndex(of: scalar) }

  /// Whether it contains the bytes of `part`.
  func contains(_ part: String) -> Bool { self[...].contains(part) }
}

extension Substring {
  static func == (left: Substring, right: Substring) -> Bool { left.utf8.elementsEqual(right.utf8) }
  static func == (left: Substring, right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
  static func != (left: Substring, right: Substring) -> Bool { !(left == right) }
  static func != (left: Substring, right: String) -> Bool { !(left == right) }
  static func ~= (left: Substring, right: Substring) -> Bool { left == right }

  /// Whether its bytes begin with those of `prefix`.
  func hasPrefix(_ prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }

  /// Whether its bytes end with those of `suffix`.
  func hasSuffix(_ suffix: String) -> Bool { utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) }

  /// Splits at a separator. Works on scalars: "'" followed by a combining accent is one `Character`, in which the quote would not be found.
  func split(separator: Unicode.Scalar, maxSplits: Int = .max, omittingEmptySubsequences: Bool = true)
    -> [Substring]
  {
    unicodeScalars.split(
      separator: separator, maxSplits: maxSplits, omittingEmptySubsequences: omittingEmptySubsequences
    ).map(Substring.init)
  }

  /// The first index of a scalar.
  func firstIndex(of scalar: Unicode.Scalar) -> Index? { unicodeScalars.firstIndex(of: scalar) }

  /// The last index of a scalar.
  func lastIndex(of scalar: Unicode.Scalar) -> Index? { unicodeScalars.lastIndex(of: scalar) }

  /// Whether it contains the bytes of `part`.
  func contains(_ part: String) -> Bool {
    var (text, part) = (String(self), part)
    return text.withUTF8 { text in
      part.withUTF8 { part in
        guard let first = part.first, part.count <= text.count else { return part.isEmpty }
        return (0...text.count - part.count).contains { start in
          text[start] == first && text[start..<start + part.count].elementsEqual(part)
        }
      }
    }
  }
}

extension String? {
  static func == (left: String?, right: String?) -> Bool {
    switch (left, right) {
    case (nil, nil): true
    case (let left?, let right?): left == right
    default: false
    }
  }

  static func != (left: String?, right: String?) -> Bool { !(left == right) }
}

extension Substring? {
  static func == (left: Substring?, right: Substring?) -> Bool {
    switch (left, right) {
    case (nil, nil): true
    case (let left?, let right?): left == right
    default: false
    }
  }

  static func != (left: Substring?, right: Substring?) -> Bool { !(left == right) }
}

extension [String] {
  static func == (left: [String], right: [String]) -> Bool { left.elementsEqual(right) { $0 == $1 } }
  static func != (left: [String], right: [String]) -> Bool { !(left == right) }
}

extension [String]? {
  static func == (left: [String]?, right: [String]?) -> Bool {
    switch (left, right) {
    case (nil, nil): true
    case (let left?, let right?): left == right
    default: false
    }
  }

  static func != (left: [String]?, right: [String]?) -> Bool { !(left == right) }
}

extension [String?] {
  static func == (left: [String?], right: [String?]) -> Bool { left.elementsEqual(right) { $0 == $1 } }
  static func != (left: [String?], right: [String?]) -> Bool { !(left == right) }
}

extension Sequence<String> {
  func contains(_ text: String) -> Bool { contains { $0 == text } }
  func sorted() -> [String] { sorted { $0 < $1 } }
  func elementsEqual(_ other: some Sequence<String>) -> Bool { elementsEqual(other) { $0 == $1 } }
  func starts(with other: some Sequence<String>) -> Bool { starts(with: other) { $0 == $1 } }
  func min() -> String? { self.min { $0 < $1 } }
  func max() -> String? { self.max { $0 < $1 } }
}

extension Sequence<Substring> {
  func contains(_ text: Substring) -> Bool { contains { $0 == text } }
}

extension Collection<String> {
  func firstIndex(of text: String) -> Index? { firstIndex { $0 == text } }
}

extension BidirectionalCollection<String> {
  func lastIndex(of text: String) -> Index? { lastIndex { $0 == text } }
}

extension MutableCollection<String> where Self: RandomAccessCollection {
  mutating func sort() { sort { $0 < $1 } }
}

func == (left: (String, String), right: (String, String)) -> Bool { left.0 == right.0 && left.1 == right.1 }
func != (left: (String, String), right: (String, String)) -> Bool { !(left == right) }
func < (left: (String, String), right: (String, String)) -> Bool {
  left.0 == right.0 ? left.1 < right.1 : left.0 < right.0
}

func min(_ left: String, _ right: String) -> String { right < left ? right : left }
func max(_ left: String, _ right: String) -> String { right < left ? left : right }

// Warnings are errors in this package, so a call of one of these does not compile.

extension Set<String> {
  @available(*, deprecated, message: "compares by canonical equivalence: TextSet compares bytes")
  init() { self = [] }
  @available(*, deprecated, message: "compares by canonical equivalence: TextSet compares bytes")
  init(_ texts: some Sequence<String>) { self = [] }
  @available(*, deprecated, message: "compares by canonical equivalence: TextSet compares bytes")
  func contains(_ text: String) -> Bool { false }
  @available(*, deprecated, message: "compares by canonical equivalence: TextSet compares bytes")
  mutating func insert(_ text: String) -> (inserted: Bool, memberAfterInsert: String) { (false, text) }
}

extension Set<[String]> {
  @available(*, deprecated, message: "compares by canonical equivalence: [TextKey] compares bytes")
  init(_ texts: some Sequence<[String]>) { self = [] }
  @available(*, deprecated, message: "compares by canonical equivalence: [TextKey] compares bytes")
  func contains(_ texts: [String]) -> Bool { false }
  @available(*, deprecated, message: "compares by canonical equivalence: [TextKey] compares bytes")
  mutating func insert(_ texts: [String]) -> (inserted: Bool, memberAfterInsert: [String]) { (false, texts) }
}

extension Dictionary where Key == String {
  @available(*, deprecated, message: "compares by canonical equivalence: TextMap compares bytes")
  init(_ pairs: some Sequence<(String, Value)>, uniquingKeysWith combine: (Value, Value) throws -> Value) {
    self = [:]
  }
  @available(*, deprecated, message: "compares by canonical equivalence: TextMap compares bytes")
  init(uniqueKeysWithValues pairs: some Sequence<(String, Value)>) { self = [:] }
  @available(*, deprecated, message: "compares by canonical equivalence: TextMap compares bytes")
  init<Values: Sequence>(grouping values: Values, by key: (Values.Element) throws -> String)
  where Value == [Values.Element] { self = [:] }
  @available(*, deprecated, message: "compares by canonical equivalence: TextMap compares bytes")
  subscript(key: String) -> Value? {
    get { nil }
    set {}
  }
  @available(*, deprecated, message: "compares by canonical equivalence: TextMap compares bytes")
  subscript(key: String, default value: @autoclosure () -> Value) -> Value {
    get { value() }
    set {}
  }
}

extension Dictionary where Key == [String] {
  @available(*, deprecated, message: "compares by canonical equivalence: [TextKey] compares bytes")
  subscript(key: [String]) -> Value? {
    get { nil }
    set {}
  }
}
