import Foundation
import HoldfastCore
import HoldfastSQLite

/// Turns a `Record` into the columns of a row: docs/RECORDS.md.
struct RowEncoder: Encoder {
  /// What is collected while a record encodes itself. What can't be stored is kept, as not every call of an encoder can throw.
  private final class Row {
    var columns: [(name: String, value: SQLiteValue)] = []
    var failure: StoreError?
  }

  private let table: TableSchema
  private let row = Row()
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  private init(_ table: TableSchema) { self.table = table }

  /// The columns of a record, in the order in which it encodes them.
  ///
  /// - Throws: `StoreError.valueUnfit` naming table and column for what could not be read back as it is; what the record's own coding throws.
  static func encode<R: Record>(_ record: R, in schema: SyncSchema) throws -> [(
    name: String, value: SQLiteValue
  )] {
    guard let table = schema.table(R.table) else {
      throw StoreError(.valueUnfit, "The schema has no table \(R.table).")
    }
    let encoder = RowEncoder(table)
    try record.encode(to: encoder)
    if let failure = encoder.row.failure { throw failure }
    return encoder.row.columns
  }

  /// The columns of a record that differ from what was encoded before.
  static func changes<R: Record>(
    from before: [(name: String, value: SQLiteValue)], to record: R, in schema: SyncSchema
  ) throws -> [(name: String, value: SQLiteValue)] {
    try encode(record, in: schema).filter { column in
      !before.contains { $0.name == column.name && $0.value == column.value }
    }
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(Keyed<Key>(encoder: self))
  }
  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    fail("", "A record has keys, which are its columns")
    return Discarding<AnyKey>()
  }
  func singleValueContainer() -> any SingleValueEncodingContainer {
    fail("", "A record has keys, which are its columns")
    return ValueEncoder()
  }

  private func error(_ column: String, _ reason: String) -> StoreError {
    StoreError(.valueUnfit, "\(table.name)\(column.isEmpty ? "" : ".")\(column): \(reason).")
  }

  fileprivate func fail(_ column: String, _ reason: String) {
    if row.failure == nil { row.failure = error(column, reason) }
  }

  /// The type of a column; `id`, `zone` and `rev` stand in every table.
  private func type(of name: String) -> ColumnType? {
    switch name {
    case "id", "zone": .text
    case "rev": .integer
    default: table.index(of: name).map { table.columns[$0].type }
    }
  }

  private func put(_ value: SQLiteValue, _ name: String) throws {
    if type(of: name) == nil {
      throw error(name, "the table has no such column; leave it out of the coding keys")
    }
    // As elsewhere with Codable, what is encoded last under a key counts.
    row.columns.removeAll { $0.name == name }
    row.columns.append((name, value))
  }

  fileprivate func putNull(_ name: String) throws { try put(.null, name) }

  fileprivate func put(_ value: some Encodable, _ name: String) throws {
    let column = type(of: name) ?? .text
    let stored: SQLiteValue?
    do {
      stored = try ValueEncoder.value(of: value).stored(in: column) { try ColumnValue.json(value) }
    } catch let unfit as ValueEncoder.Unfit {
      throw error(name, unfit.reason)
    } catch let unfit as EncodingError {
      throw error(name, "the value can't be written as JSON (\(unfit))")
    }
    guard let stored else {
      throw error(
        name, "a column of type \(column.rawValue) can't hold this value of \(Swift.type(of: value))")
    }
    try put(stored, name)
  }
}

private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoder: RowEncoder
  var codingPath: [any CodingKey] { [] }

  func encodeNil(forKey key: Key) throws { try encoder.putNull(key.stringValue) }
  func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try encoder.put(value, key.stringValue) }
  // Without this an Optional that is nil would leave its column out.
  func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { try encodeNil(forKey: key) }
  }

  private static var oneValue: String { "a column holds one value; encode a value that is Codable itself" }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    encoder.fail(key.stringValue, Self.oneValue)
    return KeyedEncodingContainer(Discarding<Nested>())
  }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    encoder.fail(key.stringValue, Self.oneValue)
    return Discarding<Key>()
  }
  func superEncoder() -> any Encoder {
    encoder.fail("super", Self.oneValue)
    return ValueEncoder()
  }
  func superEncoder(forKey key: Key) -> any Encoder {
    encoder.fail(key.stringValue, Self.oneValue)
    return ValueEncoder()
  }
}
