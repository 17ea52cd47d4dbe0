import Foundation
import HoldfastCore
import HoldfastSQLite

/// How a value of another database is stored in a column: docs/MIGRATING.md has the table.
enum ImportedValue {
  /// - Returns: the value for the column, or nil when the column has no such form.
  static func convert(_ value: SQLiteValue, for column: ColumnSchema) -> SQLiteValue? {
    switch (column.type, value) {
    case (_, .null): .null
    case (.text, .text), (.position, .text), (.integer, .integer), (.real, .real): value
    case (.text, .integer(let number)): .text(String(number))
    case (.text, .real(let number)): .text(String(number))
    case (.text, .blob(let bytes)): .text(Data(bytes).base64EncodedString())
    case (.integer, .real(let number)): Int64(exactly: number).map { .integer($0) }
    case (.integer, .text(let text)): Int64(text).map { .integer($0) }
    case (.real, .integer(let number)): .real(Double(number))
    case (.real, .text(let text)): Double(text).flatMap { $0.isFinite ? .some(.real($0)) : .none }
    case (.boolean, .integer(0)), (.boolean, .integer(1)): value
    case (.boolean, .text("true")): .integer(1)
    case (.boolean, .text("false")): .integer(0)
    case (.timestamp, .text(let text)): timestamp(text).map { .text($0) }
    case (.timestamp, .integer(let seconds)):
      milliseconds(Double(seconds)).flatMap(text).map { .text($0) }
    case (.timestamp, .real(let seconds)): milliseconds(seconds).flatMap(text).map { .text($0) }
    case (.json, .text(let text)): json(text).map { .text($0) }
    case (.json, .integer(let number)): .text(String(number))
    case (.json, .real(let number)) where number.isFinite: .text(String(number))
    default: nil
    }
  }

  /// The key that a reference names.
  static func key(_ value: SQLiteValue) -> String? {
    switch value {
    case .text(let text): text
    case .integer(let number): String(number)
    case .blob(let bytes) where bytes.count == 16: uuid(bytes)
    case .null, .real, .blob: nil
    }
  }

  /// The text of a UUID that is stored as its bytes.
  private static func uuid(_ bytes: [UInt8]) -> String {
    let digits = bytes.map { byte in
      String(UnicodeScalar(Hexadecimal.digit(byte >> 4)))
        + String(UnicodeScalar(Hexadecimal.digit(byte & 15)))
    }
    let parts = [digits[0..<4], digits[4..<6], digits[6..<8], digits[8..<10], digits[10..<16]]
    return parts.map { $0.joined() }.joined(separator: "-")
  }

  /// RFC 3339, with any fraction and offset; or `2026-11-21 10:00:00.000`, in UTC, as SQLite and GRDB write it.
  private static func timestamp(_ text: String) -> String? {
    if Timestamp.isValid(text) { return text }
    let (date, offset) = parts(text)
    guard let moment = parse(date), let offset else { return nil }
    return self.text(moment - offset)
  }

  /// The text of a time; nil beyond the years that one can have. So times in milliseconds are not taken for seconds.
  private static func text(_ milliseconds: Int64) -> String? {
    let text = Timestamp.text(milliseconds: milliseconds)
    return Timestamp.milliseconds(text) == milliseconds ? text : nil
  }

  /// The text without its offset, and the offset in milliseconds.
  private static func parts(_ text: String) -> (String, Int64?) {
    if text.hasSuffix("Z") || text.hasSuffix("z") { return (String(text.dropLast()), 0) }
    let tail = Array(text.utf8.suffix(6))
    guard text.utf8.count > 16, tail.count == 6, tail[0] == UInt8(ascii: "+") || tail[0] == UInt8(ascii: "-"),
      tail[3] == UInt8(ascii: ":")
    else { return (text, 0) }
    func number(_ digits: ArraySlice<UInt8>) -> Int64? { Int64(String(decoding: digits, as: UTF8.self)) }
    guard let hours = number(tail[1...2]), let minutes = number(tail[4...5]), (0...23).contains(hours),
      (0...59).contains(minutes)
    else { return (text, nil) }
    let shift = (hours * 60 + minutes) * 60_000
    return (String(text.dropLast(6)), tail[0] == UInt8(ascii: "-") ? -shift : shift)
  }

  /// Milliseconds since 1970 of a date without an offset.
  private static func parse(_ text: String) -> Int64? {
    var bytes = Array(text.utf8)
    if bytes.count == 10 { bytes += Array(" 00:00:00".utf8) }
    if bytes.count == 16 { bytes += Array(":00".utf8) }
    guard bytes.count >= 19 else { return nil }
    bytes[10] = UInt8(ascii: "T")
    var fraction = bytes.count > 19 ? Array(bytes[20...].prefix(3)) : []
    guard bytes.count == 19 || bytes[19] == UInt8(ascii: "."),
      bytes.dropFirst(20).allSatisfy({ (48...57).contains($0) })
    else { return nil }
    while fraction.count < 3 { fraction.append(UInt8(ascii: "0")) }
    let whole = bytes[..<19] + [UInt8(ascii: ".")] + fraction + [UInt8(ascii: "Z")]
    return Timestamp.milliseconds(String(decoding: whole, as: UTF8.self))
  }

  private static func milliseconds(_ seconds: Double) -> Int64? {
    Int64(exactly: (seconds * 1000).rounded())
  }

  /// The text without white space around it, as a record's own values are stored; nil when it is no JSON.
  private static func json(_ text: String) -> String? {
    guard let value = try? JSONValue(parsing: text, maximumDepth: ColumnSchema.jsonDepthLimit) else {
      return nil
    }
    return String(decoding: value.bytes, as: UTF8.self)
  }
}
