import HoldfastSQLite
import HoldfastSystem

/// Finds the column of a key path.
///
/// Swift says nothing of the coding key of a property. So the type decodes itself from made-up values, once for each key with another value under it alone:
/// the key under which the property differs is its column.
enum ColumnPath {
  private static let known = Locked<[AnyKeyPath: String]>([:])

  /// The name of the column.
  ///
  /// - Throws: `StoreError.valueUnfit` for what is no stored property of the record itself, or can't be told apart.
  static func column<R: Record, V: Equatable>(_ path: KeyPath<R, V>) throws -> String {
    if let name = known.withLock({ $0[path] }) { return name }
    guard MemoryLayout<R>.offset(of: path) != nil else {
      throw StoreError(.valueUnfit, "A condition on \(R.self) takes stored properties of a struct only.")
    }
    let name = try search(path)
    known.withLock { $0[path] = name }
    return name
  }

  private static func search<R: Record, V: Equatable>(_ path: KeyPath<R, V>) throws -> String {
    let log = ProbeLog()
    let plain = try probe(R.self, nil, log)
    for key in log.keys {
      let log = ProbeLog()
      guard let other = try? probe(R.self, key, log), log.types.contains(ObjectIdentifier(V.self)) else {
        continue
      }
      if plain[keyPath: path] != other[keyPath: path] { return key }
    }
    throw StoreError(
      .valueUnfit, "No column of \(R.self) is known for this property. Write the condition as .sql(…).")
  }

  private static func probe<R: Record>(_ type: R.Type, _ key: String?, _ log: ProbeLog) throws -> R {
    do { return try R(from: Probe(differing: key, log: log)) } catch {
      throw StoreError(
        .valueUnfit, "\(R.self) can't be taken apart: \(error). Write the condition as .sql(…).")
    }
  }
}

/// The keys that a type has asked for, and the types that the property of the differing one may have.
private final class ProbeLog {
  private(set) var keys: [String] = []
  private(set) var types: Set<ObjectIdentifier> = []

  func note(_ key: String) { if !keys.contains(key) { keys.append(key) } }
  func note<T>(_ type: T.Type) { types = [ObjectIdentifier(T.self), ObjectIdentifier(T?.self)] }
}

/// Gives the same value under each key, and another one under one of them.
private struct Probe: Decoder {
  let differing: String?
  let log: ProbeLog
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(Keys<Key>(probe: self))
  }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw ColumnPathError.noKeys }
  func singleValueContainer() throws -> any SingleValueDecodingContainer { throw ColumnPathError.noKeys }

  private struct Keys<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let probe: Probe
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { [] }

    private func differs(_ key: Key) -> Bool {
      probe.log.note(key.stringValue)
      guard let differing = probe.differing else { return false }
      return key.stringValue == differing
    }

    func contains(_ key: Key) -> Bool { true }
    func decodeNil(forKey key: Key) -> Bool { !differs(key) }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
      let isOther = differs(key)
      if isOther { probe.log.note(type) }
      return try MadeUpValue.make(type, isOther: isOther)
    }
    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
      differs(key) ? try decode(type, forKey: key) : nil
    }
    func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> { throw ColumnPathError.nested }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
      throw ColumnPathError.nested
    }
    func superDecoder() throws -> any Decoder { throw ColumnPathError.nested }
    func superDecoder(forKey key: Key) throws -> any Decoder { throw ColumnPathError.nested }
  }
}

private enum ColumnPathError: Error { case noKeys, nested, noValue }

/// One of two values of any type that a column can hold.
private enum MadeUpValue {
  /// What a column may hold that stands for nothing, and for something.
  private static let texts: (plain: [String], other: [String]) = (
    ["0", "false", "", "[]", "{}", "00000000-0000-0000-0000-000000000000", "1970-01-01T00:00:00.000Z", "a:"],
    [
      "1", "1.5", "true", "[\"1\"]", "[1]", "{\"1\":1}", "00000000-0000-0000-0000-000000000001",
      "1970-01-01T00:00:01.000Z", "b:", "MQ==",
    ]
  )

  static func make<T: Decodable>(_ type: T.Type, isOther: Bool) throws -> T {
    if let cases = type as? any CaseIterable.Type, let value = some(of: cases, isOther) as? T { return value }
    for text in isOther ? texts.other : texts.plain {
      if let value = try? RowDecoder.decode(type, names: ["value"], values: [.text(text)]) { return value }
    }
    // A struct in a column of JSON: its own values are made up too.
    return try T(from: Probe(differing: nil, log: ProbeLog()))
  }

  private static func some<Cases: CaseIterable>(of type: Cases.Type, _ isOther: Bool) -> Any? {
    let all = Array(type.allCases)
    return isOther ? all.last : all.first
  }
}
