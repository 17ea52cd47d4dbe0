import Foundation

/// Finds out what one value of a record is: a plain value, or nested. See `ColumnValue`.
final class ValueEncoder: Encoder, SingleValueEncodingContainer {
  /// Why a value can't stand in any column.
  struct Unfit: Error {
    let reason: String
  }

  private var found: ColumnValue?
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  /// What a value is.
  ///
  /// - Throws: `Unfit`; what the value's own coding throws.
  static func value(of value: some Encodable) throws -> ColumnValue {
    let encoder = ValueEncoder()
    try encoder.encode(value)
    guard let found = encoder.found else { throw Unfit(reason: "the value encodes nothing") }
    return found
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }
  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    found = .nested
    return KeyedEncodingContainer(Discarding<Key>())
  }
  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    found = .nested
    return Discarding<AnyKey>()
  }

  func encodeNil() { found = .null }

  func encode<T: Encodable>(_ value: T) throws {
    switch value {
    case let text as String: found = .text(text)
    case let isTrue as Bool: found = .bool(isTrue)
    case let number as any BinaryInteger:
      guard let whole = Int64(exactly: number) else {
        throw Unfit(reason: "\(number) is no integer of 64 bits with a sign")
      }
      found = .integer(whole)
    case let number as Double: found = .real(try finite(number))
    case let number as Float: found = .real(try finite(Double(number)))
    default:
      guard let text = FoundationText.text(value) else { return try value.encode(to: self) }
      guard let text else {
        throw Unfit(reason: "this value of \(T.self) has no text from which it can be read")
      }
      found = .foundation(text)
    }
  }

  private func finite(_ number: Double) throws -> Double {
    if number.isFinite { return number }
    throw Unfit(reason: "a number must be finite, and this is \(number)")
  }
}

/// Takes what nobody needs: what is nested is encoded as JSON, by another encoder.
struct Discarding<Key: CodingKey>: KeyedEncodingContainerProtocol, UnkeyedEncodingContainer {
  var codingPath: [any CodingKey] { [] }
  private(set) var count = 0

  func encodeNil(forKey key: Key) {}
  func encode<T: Encodable>(_ value: T, forKey key: Key) {}
  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> { KeyedEncodingContainer(Discarding<Nested>()) }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { Discarding<Key>() }
  func superEncoder(forKey key: Key) -> any Encoder { ValueEncoder() }

  mutating func encodeNil() { count += 1 }
  mutating func encode<T: Encodable>(_ value: T) { count += 1 }
  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) -> KeyedEncodingContainer<Nested> {
    count += 1
    return KeyedEncodingContainer(Discarding<Nested>())
  }
  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    count += 1
    return Discarding<Key>()
  }
  func superEncoder() -> any Encoder { ValueEncoder() }
}

/// A key of any name.
struct AnyKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { return nil }
}
