/// A set of texts, compared by bytes. It has the interface of `Set<String>`, which compares by canonical equivalence.
public struct TextSet: Hashable, Sendable {
  @usableFromInline
  var keys: Set<TextKey>

  private init(keys: Set<TextKey>) { self.keys = keys }

  /// The empty set.
  public init() { keys = [] }

  /// Creates a set of the texts in a sequence. Inlinable, as making one without knowing the type of the sequence takes several times as long.
  @inlinable
  public init(_ texts: some Sequence<String>) { keys = Set(texts.lazy.map { TextKey($0) }) }

  /// Removes all texts.
  public mutating func removeAll(keepingCapacity: Bool = false) {
    keys.removeAll(keepingCapacity: keepingCapacity)
  }

  /// The texts that satisfy a condition.
  public func filter(_ isIncluded: (String) throws -> Bool) rethrows -> TextSet {
    TextSet(keys: try keys.filter { try isIncluded($0.text) })
  }

  /// The union with a sequence.
  public func union(_ texts: some Sequence<String>) -> TextSet { union(TextSet(texts)) }
  /// Adds the texts of a sequence.
  public mutating func formUnion(_ texts: some Sequence<String>) { for text in texts { insert(text) } }
  /// The texts that are not in a sequence.
  public func subtracting(_ texts: some Sequence<String>) -> TextSet { subtracting(TextSet(texts)) }
  /// Removes the texts of a sequence.
  public mutating func subtract(_ texts: some Sequence<String>) { for text in texts { remove(text) } }
  /// The texts that are also in a sequence.
  public func intersection(_ texts: some Sequence<String>) -> TextSet { intersection(TextSet(texts)) }
  /// Whether all texts are in a sequence.
  public func isSubset(of texts: some Sequence<String>) -> Bool { isSubset(of: TextSet(texts)) }
  /// Whether it contains all texts of a sequence.
  public func isSuperset(of texts: some Sequence<String>) -> Bool { texts.allSatisfy { contains($0) } }
  /// Whether it contains no text of a sequence.
  public func isDisjoint(with texts: some Sequence<String>) -> Bool { !texts.contains { contains($0) } }
}

extension TextSet: SetAlgebra {
  /// Whether it contains a text.
  public func contains(_ text: String) -> Bool { keys.contains(TextKey(text)) }
  /// The union of both sets.
  public func union(_ other: TextSet) -> TextSet { TextSet(keys: keys.union(other.keys)) }
  /// The intersection of both sets.
  public func intersection(_ other: TextSet) -> TextSet { TextSet(keys: keys.intersection(other.keys)) }
  /// The texts that are in exactly one of both sets.
  public func symmetricDifference(_ other: TextSet) -> TextSet {
    TextSet(keys: keys.symmetricDifference(other.keys))
  }
  /// The texts that are not in another set.
  public func subtracting(_ other: TextSet) -> TextSet { TextSet(keys: keys.subtracting(other.keys)) }
  /// Whether all texts are in another set.
  public func isSubset(of other: TextSet) -> Bool { keys.isSubset(of: other.keys) }

  /// Adds a text.
  @discardableResult
  public mutating func insert(_ text: String) -> (inserted: Bool, memberAfterInsert: String) {
    let (inserted, member) = keys.insert(TextKey(text))
    return (inserted, member.text)
  }

  /// Removes a text.
  @discardableResult
  public mutating func remove(_ text: String) -> String? { keys.remove(TextKey(text))?.text }
  /// Adds a text, replacing an equal one.
  @discardableResult
  public mutating func update(with text: String) -> String? { keys.update(with: TextKey(text))?.text }
  /// Adds the texts of another set.
  public mutating func formUnion(_ other: TextSet) { keys.formUnion(other.keys) }
  /// Keeps the texts that are in another set.
  public mutating func formIntersection(_ other: TextSet) { keys.formIntersection(other.keys) }
  /// Keeps the texts that are in exactly one of both sets.
  public mutating func formSymmetricDifference(_ other: TextSet) { keys.formSymmetricDifference(other.keys) }
  /// Removes the texts that are in another set.
  public mutating func subtract(_ other: TextSet) { keys.subtract(other.keys) }
}

extension TextSet: Collection {
  /// A position in the set.
  public struct Index: Comparable, Sendable {
    fileprivate let index: Set<TextKey>.Index
    /// Whether `left` is before `right`.
    public static func < (left: Index, right: Index) -> Bool { left.index < right.index }
  }

  /// The first position.
  public var startIndex: Index { Index(index: keys.startIndex) }
  /// The position after the last text.
  public var endIndex: Index { Index(index: keys.endIndex) }
  /// The number of texts.
  public var count: Int { keys.count }
  /// Whether it is empty.
  public var isEmpty: Bool { keys.isEmpty }
  /// The next position.
  public func index(after index: Index) -> Index { Index(index: keys.index(after: index.index)) }
  /// The text at a position.
  public subscript(index: Index) -> String { keys[index.index].text }
}

extension TextSet: ExpressibleByArrayLiteral, CustomStringConvertible {
  /// Creates a set of a literal.
  public init(arrayLiteral texts: String...) { self.init(texts) }
  /// A description for people.
  public var description: String { String(describing: map { $0 }) }
}
