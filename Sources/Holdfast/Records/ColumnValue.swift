import Foundation
import HoldfastCore
import HoldfastSQLite

/// What a Swift value is to a column: docs/RECORDS.md. Made by `ValueEncoder`.
enum ColumnValue {
  case null
  case bool(Bool)
  case integer(Int64)
  case real(Double)
  case text(String)
  /// The text of a type of Foundation: in a column of JSON a string of JSON.
  case foundation(String)
  /// What has keys or elements.
  case nested

  /// What SQLite holds of it in a column; nil when the column can't hold it.
  ///
  /// - Parameter json: makes the JSON of a nested value.
  func stored(in column: ColumnType, json: () throws -> String) throws -> SQLiteValue? {
    switch (self, column) {
    case (.null, _): .null
    case (.text(let text), .json): Self.isNull(text) ? nil : .text(text)
    case (.nested, .json): .text(try json())
    case (.bool(let isTrue), .json): .text(isTrue ? "true" : "false")
    case (.integer(let number), .json): .text(String(number))
    case (.real(let number), .json): .text("\(number)")
    case (.foundation(let text), .json):
      .text(String(decoding: JSONValue.string(text).bytes, as: UTF8.self))
    case (.text(let text), .text), (.text(let text), .reference), (.text(let text), .position),
      (.text(let text), .timestamp), (.foundation(let text), .text), (.foundation(let text), .reference),
      (.foundation(let text), .position), (.foundation(let text), .timestamp):
      .text(text)
    case (.bool(let isTrue), .boolean), (.bool(let isTrue), .integer): .integer(isTrue ? 1 : 0)
    case (.integer(let number), .integer), (.integer(let number), .boolean): .integer(number)
    case (.integer(let number), .real): Int64(exactly: Double(number)) == number ? .real(Double(number)) : nil
    case (.real(let number), .real): .real(number)
    case (.real(let number), .integer): Int64(exactly: number).map { .integer($0) }
    default: nil
    }
  }

  /// What is bound for a value of a statement, of which no column is known.
  ///
  /// - Throws: what can't be stored in any column; see `ValueEncoder.value(of:)`.
  static func bound(_ value: some Encodable) throws -> SQLiteValue {
    switch try ValueEncoder.value(of: value) {
    case .null: .null
    case .bool(let isTrue): .integer(isTrue ? 1 : 0)
    case .integer(let number): .integer(number)
    case .real(let number): .real(number)
    case .text(let text), .foundation(let text): .text(text)
    case .nested: .text(try json(value))
    }
  }

  /// The JSON of a value. Its members are in one order, as another order would be an edit.
  static func json(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  /// Whether a text is the null of JSON, which is no value in either database.
  private static func isNull(_ text: String) -> Bool {
    (try? JSONValue(parsing: text)) == .null
  }
}

/// The types of Foundation that stand in a column as a text, whatever their own `Codable` says.
enum FoundationText {
  /// The text of a value; nil of another type, or of a value that has no text from which it could be read.
  static func text(_ value: Any) -> String?? {
    switch value {
    case let id as UUID: id.uuidString.lowercased()
    case let date as Date: text(date)
    case let data as Data: data.base64EncodedString()
    case let number as Decimal: text(number)
    case let url as URL: URL(string: url.absoluteString) == url ? url.absoluteString : .some(nil)
    default: nil
    }
  }

  /// Reads a value of one of these types; nil when it is another type.
  ///
  /// - Throws: `Unreadable`.
  static func read<T>(_ type: T.Type, from value: SQLiteValue) throws -> T? {
    let read: Any?
    switch type {
    case is UUID.Type: read = plain(value).flatMap { UUID(uuidString: $0) }
    case is Date.Type: read = plain(value).flatMap(date)
    case is Data.Type: read = value.blob.map { Data($0) } ?? plain(value).flatMap { Data(base64Encoded: $0) }
    case is Decimal.Type: read = number(value).flatMap(decimal)
    case is URL.Type: read = plain(value).flatMap { URL(string: $0) }
    default: return nil
    }
    guard let result = read as? T else { throw Unreadable() }
    return result
  }

  /// A value is not of the type that it is read as.
  struct Unreadable: Error {}

  /// A text, which a column of JSON has in quotes. None of these types has a text that begins with one.
  private static func plain(_ value: SQLiteValue) -> String? {
    guard let text = value.text, text.utf8.first == UInt8(ascii: "\"") else { return value.text }
    return (try? JSONValue(parsing: text))?.stringValue
  }

  private static func text(_ date: Date) -> String?? {
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
    guard let whole = Int64(exactly: milliseconds),
      let read = Timestamp.milliseconds(Timestamp.text(milliseconds: whole)),
      read == whole
    else { return .some(nil) }
    return Timestamp.text(milliseconds: whole)
  }

  private static func date(_ text: String) -> Date? {
    Timestamp.milliseconds(text).map { Date(timeIntervalSince1970: Double($0) / 1000) }
  }

  private static func text(_ number: Decimal) -> String?? {
    let text = number.description
    return decimal(text) == number ? text : .some(nil)
  }

  private static func number(_ value: SQLiteValue) -> String? {
    switch value {
    case .integer(let number): String(number)
    case .real(let number): number.isFinite ? "\(number)" : nil
    default: plain(value)
    }
  }

  private static func decimal(_ text: String) -> Decimal? {
    // Foundation reads what a text begins with, and passes over the rest.
    guard
      (try? JSONReader.read(text, { try $0.peekKind() == .number ? $0.skipValue() : try $0.readNull() }))
        != nil,
      let number = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")), number.isFinite
    else { return nil }
    return number
  }
}
