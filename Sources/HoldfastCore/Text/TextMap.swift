/// A dictionary whose text keys are compared by bytes. It has the interface of `[String: Value]`, which compares keys by canonical
/// equivalence. Its initializers do not trap on duplicate keys: the last value wins.
public struct TextMap<Value> {
  @usableFromInline
  var pairs: [TextKey: Value]

  private init(values: [TextKey: Value]) { pairs = values }

  /// Creates an empty dictionary.
  public init() { pairs = [:] }

  /// Creates a dictionary of pairs. The last value of a duplicate key wins.
  @inlinable
  public init(_ pairs: some Sequence<(String, Value)>) { self.init(pairs) { $1 } }

  /// Creates a dictionary of pairs. `combine` merges the values of duplicate keys. Inlinable, as making one without knowing the types of
  /// the pairs takes several times as long.
  @inlinable
  public init(
    _ pairs: some Sequence<(String, Value)>, uniquingKeysWith combine: (Value, Value) throws -> Value
  ) rethrows {
    self.pairs = try Dictionary(pairs.lazy.map { (TextKey($0.0), $0.1) }, uniquingKeysWith: combine)
  }

  /// Groups values by a text of each.
  public init<Values: Sequence>(grouping values: Values, by key: (Values.Element) throws -> String) rethrows
  where Value == [Values.Element] {
    pairs = try Dictionary(grouping: values) { TextKey(try key($0)) }
  }

  /// The value of a key; nil if absent.
  public subscript(key: String) -> Value? {
    get { pairs[TextKey(key)] }
    _modify { yield &pairs[TextKey(key)] }
  }

  /// The value of a key, or `value` if absent.
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

  /// Transforms the values.
  public func mapValues<Other>(_ transform: (Value) throws -> Other) rethrows -> TextMap<Other> {
    TextMap<Other>(values: try pairs.mapValues(transform))
  }

  /// Transforms the values, and leaves out nil results.
  public func compactMapValues<Other>(_ transform: (Value) throws -> Other?) rethrows -> TextMap<Other> {
    TextMap<Other>(values: try pairs.compactMapValues(transform))
  }

  /// The pairs that satisfy a condition.
  public func filter(_ isIncluded: (Element) throws -> Bool) rethrows -> TextMap {
    TextMap(values: try pairs.filter { try isIncluded(($0.key.text, $0.value)) })
  }

  /// Adds the pairs of another dictionary.
  public mutating func merge(_ other: TextMap, uniquingKeysWith combine: (Value, Value) throws -> Value)
    rethrows
  {
    try pairs.merge(other.pairs, uniquingKeysWith: combine)
  }

  /// Adds pairs.
  public mutating func merge(
    _ pairs: some Sequence<(String, Value)>, uniquingKeysWith combine: (Value, Value) throws -> Value
  ) rethrows { try merge(TextMap(pairs), uniquingKeysWith: combine) }

  /// A copy with additional pairs.
  public func merging(
    _ pairs: some Sequence<(String, Value)>, uniquingKeysWith combine: (Value, Value) throws -> Value
  ) rethrows -> TextMap { try merging(TextMap(pairs), uniquingKeysWith: combine) }

  /// A copy with the pairs of another dictionary.
  public func merging(_ other: TextMap, uniquingKeysWith combine: (Value, Value) throws -> Value) rethrows
    -> TextMap
  {
    TextMap(values: try pairs.merging(other.pairs, uniquingKeysWith: combine))
  }

  /// Removes a key, and returns its value.
  @discardableResult
  public mutating func removeValue(forKey key: String) -> Value? { pairs.removeValue(forKey: TextKey(key)) }

  /// Sets the value of a key, and returns the previous one.
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

  /// A position in the dictionary.
  public struct Index: Comparable {
    fileprivate let index: Dictionary<TextKey, Value>.Index
    /// Whether `left` is before `right`.
    public static func < (left: Index, right: Index) -> Bool { left.index < right.index }
  }

  /// The first position.
  public var startIndex: Index { Index(index: pairs.startIndex) }
  /// The position after the last pair.
  public var endIndex: Index { Index(index: pairs.endIndex) }
  /// The number of pairs.
  public var count: Int { pairs.count }
  /// Whether it has no pairs.
  public var isEmpty: Bool { pairs.isEmpty }
  /// The next position.
  public func index(after index: Index) -> Index { Index(index: pairs.index(after: index.index)) }
  /// The pair at a position.
  public subscript(index: Index) -> Element {
    let (key, value) = pairs[index.index]
    return (key.text, value)
  }
}

extension TextMap: Sendable where Value: Sendable {}
extension TextMap: Equatable where Value: Equatable {}
extension TextMap: Hashable where Value: Hashable {}

extension TextMap: ExpressibleByDictionaryLiteral, CustomStringConvertible {
  /// Creates a dictionary of a literal. The last value of a duplicate key wins.
  public init(dictionaryLiteral pairs: (String, Value)...) {
    if pairs.isEmpty { self.init() } else { self.init(pairs) }
  }
  /// A description for people.
  public var description: String { String(describing: pairs) }
}
