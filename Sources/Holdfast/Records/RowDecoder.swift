import Foundation
import HoldfastCore
import HoldfastSQLite

/// Turns a row into any `Decodable`: a type with keys by the names of columns, or one plain value from the first column.
struct RowDecoder: Decoder {
  let names: [String]
  let values: [SQLiteValue]
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(Keyed<Key>(names: names, values: values))
  }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw StoreError(.valueUnfit, "A row is read as a type with keys, or as one value.")
  }
  func singleValueContainer() -> any SingleValueDecodingContainer {
    Cell(value: values.first ?? .null, name: names.first ?? "")
  }

  private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let names: [String]
    let values: [SQLiteValue]
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { names.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { names.contains(key.stringValue) }

    private func cell(_ key: Key) throws -> Cell {
      guard let index = names.firstIndex(of: key.stringValue) else {
        throw StoreError(.valueUnfit, "The row has no column \(key.stringValue).")
      }
      return Cell(value: values[index], name: key.stringValue)
    }

    func decodeNil(forKey key: Key) throws -> Bool { try cell(key).decodeNil() }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try cell(key).decode(type) }

    func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> { throw try cell(key).unfit("a nested container") }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
      throw try cell(key).unfit("a nested container")
    }
    func superDecoder() throws -> any Decoder { RowDecoder(names: names, values: values) }
    func superDecoder(forKey key: Key) throws -> any Decoder { RowDecoder(names: names, values: values) }
  }

  /// One value of a row.
  private struct Cell: SingleValueDecodingContainer {
    let value: SQLiteValue
    let name: String
    var codingPath: [any CodingKey] { [] }

    func unfit(_ type: String) -> StoreError {
      StoreError(.valueUnfit, "The column \(name) holds a value that can not be read as \(type).")
    }

    func decodeNil() -> Bool { value == .null }

    func decode(_ type: Bool.Type) throws -> Bool {
      guard let number = value.integer else { throw unfit("Bool") }
      return number != 0
    }
    func decode(_ type: String.Type) throws -> String {
      guard let text = value.text else { throw unfit("String") }
      return text
    }
    func decode(_ type: Double.Type) throws -> Double {
      guard let number = value.real ?? value.integer.map(Double.init) else { throw unfit("Double") }
      return number
    }
    func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }
    func decode(_ type: Int.Type) throws -> Int { try integer(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }

    private func integer<Number: FixedWidthInteger>(_ type: Number.Type) throws -> Number {
      guard let number = value.integer.flatMap({ Number(exactly: $0) }) else { throw unfit("\(type)") }
      return number
    }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
      if type == Date.self {
        guard let text = value.text, let date = RowDate.date(text) as? T else { throw unfit("Date") }
        return date
      }
      // An object or an array is kept as JSON; any other type asks this container for its plain value. A text may begin like one.
      if let text = value.text, type != String.self, text.hasPrefix("{") || text.hasPrefix("["),
        !(type is any RawRepresentable.Type)
      {
        return try JSONDecoder().decode(type, from: Data(text.utf8))
      }
      return try type.init(from: RowDecoder(names: [name], values: [value]))
    }
  }
}

/// Dates in the form of `timestamp` columns.
enum RowDate {
  static func text(_ date: Date) -> String {
    Timestamp.text(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()))
  }
  static func date(_ text: String) -> Date? {
    Timestamp.milliseconds(text).map { Date(timeIntervalSince1970: Double($0) / 1000) }
  }
}
