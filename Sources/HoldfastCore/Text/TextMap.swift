/// A dictionary whose keys are texts, each with its bytes. It is used as a `[String: Value]` is, which takes canonically equivalent
/// texts for one key. None of its initializers traps: of two values of one key the last counts.
public struct TextMap<Value> {
  private var pairs: [TextKey: Value]

  private init(values: [TextKey: Value]) { pairs = values }

  /// Without keys.
  public init() { pairs = [:] }

  /// Of pairs; the last counts of those with one key.
  public init(_ pairs: some Sequence<(String, Value)>) { self.init(pairs) { $1 } }

  /// Of pairs, and of what is made of those with one key.
  public init(
    _ pairs: some Sequence<(String, Value)>, uniquingKeysWith combine: (Value, Value) throws -> Value
  ) rethrows {
    self.pairs = try Dictionary(pairs.lazy.map { (TextKey($0.0), $0.1) }, uniquingKeysWith: combine)
  }

  /// Of values by a text of each.
  public init<Values: Sequence>(grouping values: Values, by key: (Values.Element) throws -> String) rethrows
  where Value == [Values.Element] {
    pairs = try Dictionary(grouping: values) { TextKey(try key($0)) }
  }

  /// The value of a key.
  public subscript(key: String) -> Value? {
    get { pairs[TextKey(key)] }
    _modify { yield &pairs[TextKey(key)] }
  }

  /// The value of a key, or another where there is none.
  public subscript(key: String, default value: @autoclosure () -> Value) -> Value {
    get { pairs[TextKey(key), default: value()] }
    _modify { yield &pairs[TextKey(key), default: value()] }
  }

  /// The values.
  public var values: Dictionary<TextKey, Value>.Values {
    get { pairs.values }
    _modify { yield &pairs.values }
  }

  /// The keys.
  public var keys: TextSet { TextSet(pairs.keys.lazy.map(\.text)) }

  /// The same keys with other values.
  public func mapValues<Other>(_ transform: (Value) throws -> Other) rethrows -> TextMap<Other> {
    TextMap<Other>(values: try pairs.mapValues(transform))
  }

  /// The same keys with other values, without those that come to nil.
  public func compactMapValues<Other>(_ transform: (Value) throws -> Other?) rethrows -> TextMap<Other> {
    TextMap<Other>(values: try pairs.compactMapValues(transform))
  }

  /// Those pairs that fulfil a condition.
  public func filter(_ isIncluded: (Element) throws -> Bool) rethrows -> TextMap {
    TextMap(values: try pairs.filter { try isIncluded(($0.key.text, $0.value)) })
  }

  /// Adds the pairs of another.
  public mutating func merge(_ other: TextMap, uniquingKeysWith combine: (Value, Value) throws -> Value)
    rethrows
  {
    try pairs.merge(other.pairs, uniquingKeysWith: combine)
  }

  /// Adds pairs.
  public mutating func merge(
    _ pairs: some Sequence<(String, Value)>, uniquingKeysWith combine: (Value, Value) throws -> Value
  ) rethrows { try merge(TextMap(pairs), uniquingKeysWith: combine) }

  /// This with more pairs.
  public func merging(
    _ pairs: some Sequence<(String, Value)>, uniquingKeysWith combine: (Value, Value) throws -> Value
  ) rethrows -> TextMap { try merging(TextMap(pairs), uniquingKeysWith: combine) }

  /// This with the pairs of another.
  public func merging(_ other: TextMap, uniquingKeysWith combine: (Value, Value) throws -> Value) rethrows
    -> TextMap
  {
    TextMap(values: try pairs.merging(other.pairs, uniquingKeysWith: combine))
  }

  /// Removes a key, and returns its value.
  @discardableResult
  public mutating func removeValue(forKey key: String) -> Value? { pairs.removeValue(forKey: TextKey(key)) }

  /// Sets the value of a key, and returns the one before.
  @discardableResult
  public mutating func updateValue(_ value: Value, forKey key: String) -> Value? {
    pairs.updateValue(value, forKey: TextKey(key))
  }

  /// Removes all keys.
  public mutating func removeAll(keepingCapacity: Bool = false) {
    pairs.removeAll(keepingCapacity: keepingCapacity)
  }
}

extension TextMap: Collection {
  /// A key and its value.
  public typealias Element = (key: String, value: Value)

  /// A place among the pairs.
  public struct Index: Comparable {
    fileprivate let index: Dictionary<TextKey, Value>.Index
    /// Whether one place is before the other.
    public static func < (left: Index, right: Index) -> Bool { left.index < right.index }
  }

  /// The first place.
  public var startIndex: Index { Index(index: pairs.startIndex) }
  /// The place behind the last.
  public var endIndex: Index { Index(index: pairs.endIndex) }
  /// How many there are.
  public var count: Int { pairs.count }
  /// Whether there is none.
  public var isEmpty: Bool { pairs.isEmpty }
  /// The next place.
  public func index(after index: Index) -> Index { Index(index: pairs.index(after: index.index)) }
  /// What is at a place.
  public subscript(index: Index) -> Element {
    let (key, value) = pairs[index.index]
    return (key.text, value)
  }
}

extension TextMap: Sendable where Value: Sendable {}
extension TextMap: Equatable where Value: Equatable {}
extension TextMap: Hashable where Value: Hashable {}

extension TextMap: ExpressibleByDictionaryLiteral, CustomStringConvertible {
  /// The pairs of a literal.
  public init(dictionaryLiteral pairs: (String, Value)...) {
    if pairs.isEmpty { self.init() } else { self.init(pairs) }
  }
  /// For people.
  public var description: String { String(describing: pairs) }
}
