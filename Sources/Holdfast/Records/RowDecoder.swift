import Foundation
import HoldfastCore
import HoldfastSQLite

/// Turns a row into any `Decodable`: a type with keys by the names of columns, or one value from the first column. See docs/RECORDS.md.
struct RowDecoder: Decoder {
  private let names: [String]
  private let values: [SQLiteValue]
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  /// - Throws: `StoreError.valueUnfit` naming the column; what the type's own coding throws.
  static func decode<T: Decodable>(_ type: T.Type, names: [String], values: [SQLiteValue]) throws -> T {
    let row = RowDecoder(names: names, values: values)
    do {
      return try FoundationText.read(type, from: row.first.value) ?? T(from: row)
    } catch is FoundationText.Unreadable {
      throw row.first.unfit(type)
    } catch let error as DecodingError {
      throw StoreError(.valueUnfit, "A row can't be read as \(type): \(error)")
    }
  }

  private var first: Cell { Cell(value: values.first ?? .null, name: names.first ?? "") }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(Keyed<Key>(names: names, values: values))
  }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try first.unkeyedContainer() }
  func singleValueContainer() -> any SingleValueDecodingContainer { first }

  private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let names: [String]
    let values: [SQLiteValue]
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { names.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { names.contains(key.stringValue) }

    private func cell(_ key: some CodingKey) throws -> Cell {
      guard let index = names.firstIndex(of: key.stringValue) else {
        throw StoreError(.valueUnfit, "The row has no column \(key.stringValue).")
      }
      return Cell(value: values[index], name: key.stringValue)
    }

    func decodeNil(forKey key: Key) throws -> Bool { try cell(key).decodeNil() }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try cell(key).decode(type) }
    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
      guard contains(key) else { return nil }
      let cell = try cell(key)
      if cell.decodeNil() { return nil }
      // The emptiest value of a column of JSON that is required; in another column it is a text like others.
      return cell.value == .text("null") && type != String.self
        ? try? cell.decode(type) : try cell.decode(type)
    }

    func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> { try cell(key).container(keyedBy: type) }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
      try cell(key).unkeyedContainer()
    }
    func superDecoder() throws -> any Decoder {
      try cell(AnyKey(stringValue: "super"))
    }
    func superDecoder(forKey key: Key) throws -> any Decoder { try cell(key) }
  }
}

/// One value of a row. What asks it for keys or elements gets those of the JSON that it holds.
private struct Cell: Decoder, SingleValueDecodingContainer {
  let value: SQLiteValue
  let name: String
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func unfit(_ type: Any.Type) -> StoreError {
    StoreError(.valueUnfit, "The column \(name) holds a value that can not be read as \(type).")
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }
  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    try json().container(keyedBy: type)
  }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try json().unkeyedContainer() }

  /// Foundation's decoder of the JSON that the column holds.
  private func json() throws -> any Decoder {
    struct Captured: Decodable {
      let decoder: any Decoder
      init(from decoder: any Decoder) { self.decoder = decoder }
    }
    guard let text = value.text else {
      throw StoreError(.valueUnfit, "The column \(name) holds no JSON.")
    }
    return try JSONDecoder().decode(Captured.self, from: Data(text.utf8)).decoder
  }

  func decodeNil() -> Bool { value == .null }

  func decode(_ type: Bool.Type) throws -> Bool {
    if let number = value.integer { return number != 0 }
    guard let text = value.text, let isTrue = (try? JSONValue(parsing: text))?.boolValue else {
      throw unfit(type)
    }
    return isTrue
  }

  func decode(_ type: String.Type) throws -> String {
    guard let text = value.text else { throw unfit(type) }
    return text
  }

  func decode(_ type: Double.Type) throws -> Double {
    let number: Double? =
      switch value {
      case .real(let number): number
      case .integer(let number): Double(number)
      // As a column of JSON has it.
      case .text(let text): try? JSONReader.read(text) { try $0.readDouble() }
      case .null, .blob: nil
      }
    guard let number else { throw unfit(type) }
    return number
  }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    do {
      if type == String.self, let text = try decode(String.self) as? T { return text }
      if let whole = type as? any FixedWidthInteger.Type {
        guard let number = integer(whole) as? T else { throw unfit(type) }
        return number
      }
      if type == Float.self, let number = try float() as? T { return number }
      return try FoundationText.read(type, from: value) ?? T(from: self)
    } catch is FoundationText.Unreadable {
      throw unfit(type)
    } catch let error as DecodingError {
      throw StoreError(.valueUnfit, "\(unfit(type)) \(error)")
    }
  }

  private func integer<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
    switch value {
    case .integer(let number): Number(exactly: number)
    case .real(let number): Number(exactly: number)
    case .text(let text): Number(text)
    case .null, .blob: nil
    }
  }

  private func float() throws -> Float {
    let number = try decode(Double.self)
    let float = Float(number)
    if float.isFinite != number.isFinite { throw unfit(Float.self) }
    return float
  }
}
