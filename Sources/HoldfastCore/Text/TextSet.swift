/// A set of texts, each with its bytes. It is used as a `Set<String>` is, which takes canonically equivalent texts for one.
public struct TextSet: Hashable, Sendable {
  private var keys: Set<TextKey>

  private init(keys: Set<TextKey>) { self.keys = keys }

  /// The empty set.
  public init() { keys = [] }

  /// The texts of a sequence.
  public init(_ texts: some Sequence<String>) { keys = Set(texts.lazy.map { TextKey($0) }) }

  /// Removes all texts.
  public mutating func removeAll(keepingCapacity: Bool = false) {
    keys.removeAll(keepingCapacity: keepingCapacity)
  }

  /// Those texts that fulfil a condition.
  public func filter(_ isIncluded: (String) throws -> Bool) rethrows -> TextSet {
    TextSet(keys: try keys.filter { try isIncluded($0.text) })
  }

  /// The texts of this set and those of a sequence.
  public func union(_ texts: some Sequence<String>) -> TextSet { union(TextSet(texts)) }
  /// Adds the texts of a sequence.
  public mutating func formUnion(_ texts: some Sequence<String>) { for text in texts { insert(text) } }
  /// The texts of this set that are not in a sequence.
  public func subtracting(_ texts: some Sequence<String>) -> TextSet { subtracting(TextSet(texts)) }
  /// Removes the texts of a sequence.
  public mutating func subtract(_ texts: some Sequence<String>) { for text in texts { remove(text) } }
  /// The texts of this set that are in a sequence, too.
  public func intersection(_ texts: some Sequence<String>) -> TextSet { intersection(TextSet(texts)) }
  /// Whether all texts of this set are in a sequence.
  public func isSubset(of texts: some Sequence<String>) -> Bool { isSubset(of: TextSet(texts)) }
  /// Whether all texts of a sequence are in this set.
  public func isSuperset(of texts: some Sequence<String>) -> Bool { texts.allSatisfy { contains($0) } }
  /// Whether none of a sequence's texts is in this set.
  public func isDisjoint(with texts: some Sequence<String>) -> Bool { !texts.contains { contains($0) } }
}

extension TextSet: SetAlgebra {
  /// Whether a text is in the set.
  public func contains(_ text: String) -> Bool { keys.contains(TextKey(text)) }
  /// The texts of both.
  public func union(_ other: TextSet) -> TextSet { TextSet(keys: keys.union(other.keys)) }
  /// The texts that are in both.
  public func intersection(_ other: TextSet) -> TextSet { TextSet(keys: keys.intersection(other.keys)) }
  /// The texts that are in one of both.
  public func symmetricDifference(_ other: TextSet) -> TextSet {
    TextSet(keys: keys.symmetricDifference(other.keys))
  }
  /// The texts that are not in another.
  public func subtracting(_ other: TextSet) -> TextSet { TextSet(keys: keys.subtracting(other.keys)) }
  /// Whether all are in another.
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
  /// Adds a text in the place of an equal one.
  @discardableResult
  public mutating func update(with text: String) -> String? { keys.update(with: TextKey(text))?.text }
  /// Adds the texts of another.
  public mutating func formUnion(_ other: TextSet) { keys.formUnion(other.keys) }
  /// Keeps those that are in another.
  public mutating func formIntersection(_ other: TextSet) { keys.formIntersection(other.keys) }
  /// Keeps those that are in one of both.
  public mutating func formSymmetricDifference(_ other: TextSet) { keys.formSymmetricDifference(other.keys) }
  /// Removes those that are in another.
  public mutating func subtract(_ other: TextSet) { keys.subtract(other.keys) }
}

extension TextSet: Collection {
  /// A place in the set.
  public struct Index: Comparable, Sendable {
    fileprivate let index: Set<TextKey>.Index
    /// Whether one place is before the other.
    public static func < (left: Index, right: Index) -> Bool { left.index < right.index }
  }

  /// The first place.
  public var startIndex: Index { Index(index: keys.startIndex) }
  /// The place behind the last.
  public var endIndex: Index { Index(index: keys.endIndex) }
  /// How many there are.
  public var count: Int { keys.count }
  /// Whether there is none.
  public var isEmpty: Bool { keys.isEmpty }
  /// The next place.
  public func index(after index: Index) -> Index { Index(index: keys.index(after: index.index)) }
  /// What is at a place.
  public subscript(index: Index) -> String { keys[index.index].text }
}

extension TextSet: ExpressibleByArrayLiteral, CustomStringConvertible {
  /// The texts of a literal.
  public init(arrayLiteral texts: String...) { self.init(texts) }
  /// For people.
  public var description: String { String(describing: map { $0 }) }
}
