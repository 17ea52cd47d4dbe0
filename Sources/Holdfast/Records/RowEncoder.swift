import Foundation
import HoldfastSQLite

/// Turns a `Record` into the columns of a row.
struct RowEncoder: Encoder {
  final class Row { var columns: [(name: String, value: SQLiteValue)] = [] }
  let row = Row()
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  static func encode(_ record: some Record) throws -> [(name: String, value: SQLiteValue)] {
    let encoder = RowEncoder()
    try record.encode(to: encoder)
    return encoder.row.columns
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(Keyed<Key>(row: row))
  }
  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    fatalError("A Record encodes itself with keys, which are its columns.")
  }
  func singleValueContainer() -> any SingleValueEncodingContainer {
    fatalError("A Record encodes itself with keys, which are its columns.")
  }

  private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let row: Row
    var codingPath: [any CodingKey] { [] }

    private func put(_ value: SQLiteValue, _ key: Key) { row.columns.append((key.stringValue, value)) }

    mutating func encodeNil(forKey key: Key) { put(.null, key) }
    mutating func encode(_ value: Bool, forKey key: Key) { put(.integer(value ? 1 : 0), key) }
    mutating func encode(_ value: String, forKey key: Key) { put(.text(value), key) }
    mutating func encode(_ value: Double, forKey key: Key) { put(.real(value), key) }
    mutating func encode(_ value: Float, forKey key: Key) { put(.real(Double(value)), key) }
    mutating func encode(_ value: Int, forKey key: Key) { put(.integer(Int64(value)), key) }
    mutating func encode(_ value: Int8, forKey key: Key) { put(.integer(Int64(value)), key) }
    mutating func encode(_ value: Int16, forKey key: Key) { put(.integer(Int64(value)), key) }
    mutating func encode(_ value: Int32, forKey key: Key) { put(.integer(Int64(value)), key) }
    mutating func encode(_ value: Int64, forKey key: Key) { put(.integer(value), key) }
    mutating func encode(_ value: UInt, forKey key: Key) throws { put(.integer(try exact(value, key)), key) }
    mutating func encode(_ value: UInt8, forKey key: Key) { put(.integer(Int64(value)), key) }
    mutating func encode(_ value: UInt16, forKey key: Key) { put(.integer(Int64(value)), key) }
    mutating func encode(_ value: UInt32, forKey key: Key) { put(.integer(Int64(value)), key) }
    mutating func encode(_ value: UInt64, forKey key: Key) throws {
      put(.integer(try exact(value, key)), key)
    }

    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
      if let date = value as? Date { return put(.text(RowDate.text(date)), key) }
      if let simple = try SimpleValue.of(value) { return put(simple, key) }
      put(.text(String(decoding: try JSONEncoder().encode(value), as: UTF8.self)), key)
    }

    // Without these an Optional that is nil would leave its column out.
    mutating func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try optional(value, key) }
    mutating func encodeIfPresent(_ value: String?, forKey key: Key) throws { try optional(value, key) }
    mutating func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try optional(value, key) }
    mutating func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try optional(value, key) }
    mutating func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try optional(value, key) }
    mutating func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try optional(value, key) }
    mutating func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try optional(value, key) }
    mutating func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try optional(value, key) }
    mutating func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try optional(value, key) }
    mutating func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try optional(value, key) }
    mutating func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try optional(value, key) }
    mutating func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try optional(value, key) }
    mutating func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try optional(value, key) }
    mutating func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try optional(value, key) }
    mutating func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws {
      try optional(value, key)
    }

    private mutating func optional<T: Encodable>(_ value: T?, _ key: Key) throws {
      if let value { try encode(value, forKey: key) } else { put(.null, key) }
    }

    private func exact(_ value: some BinaryInteger, _ key: Key) throws -> Int64 {
      guard let number = Int64(exactly: value) else {
        throw StoreError(.valueUnfit, "\(key.stringValue) is greater than 64 signed bits hold.")
      }
      return number
    }

    mutating func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
      fatalError("A column holds one value; encode a Codable value for it.")
    }
    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
      fatalError("A column holds one value; encode a Codable value for it.")
    }
    mutating func superEncoder() -> any Encoder { fatalError("A Record has no superclass.") }
    mutating func superEncoder(forKey key: Key) -> any Encoder { fatalError("A Record has no superclass.") }
  }
}

/// Values whose coding is one plain value: texts, numbers and truth values behind a generic type, and enums of them.
enum SimpleValue {
  static func of(_ value: some Encodable) throws -> SQLiteValue? {
    switch (value as? any RawRepresentable)?.rawValue ?? value {
    case let text as String: return .text(text)
    case let isTrue as Bool: return .integer(isTrue ? 1 : 0)
    case let number as any BinaryInteger:
      guard let integer = Int64(exactly: number) else {
        throw StoreError(.valueUnfit, "\(number) is greater than 64 signed bits hold.")
      }
      return .integer(integer)
    case let number as Double: return .real(number)
    case let number as Float: return .real(Double(number))
    default: return nil
    }
  }
}
