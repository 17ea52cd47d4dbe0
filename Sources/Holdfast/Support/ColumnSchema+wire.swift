import HoldfastCore
import HoldfastSQLite

extension ColumnSchema {
  /// A value of the wire in the form that SQLite keeps it.
  ///
  /// - Throws: `Problem` when it is of another type than the column.
  func value(of json: JSONValue?) throws -> SQLiteValue {
    guard let json else { return .null }
    return SQLiteValue(try JSONReader.read(json.bytes) { try self.value(from: &$0) })
  }

  /// A value as the server will read it: JSON without white space around it, and its null as NULL where that may be.
  func settled(_ value: Value) -> Value {
    guard type == .json, case .text(let text) = value, let first = text.utf8.first, let last = text.utf8.last,
      Self.isSpace(first) || Self.isSpace(last) || first == UInt8(ascii: "n")
    else { return value }
    let trimmed = Self.trimmed(text)
    if trimmed == "null" { return required ? value : .null }
    return isReadable(trimmed) ? .text(trimmed) : value
  }

  /// Checks a value that this library is to send against the schema.
  func checkSent(_ value: Value) throws(Problem) {
    // The server reads it as no value.
    if required, type == .json, case .text(let text) = value, Self.trimmed(text) == "null" {
      throw Problem(.valueMissing, "\(name) is required.")
    }
    try check(value)
  }

  private static func trimmed(_ text: String) -> String {
    let leading = text.utf8.drop(while: isSpace)
    return String(decoding: leading.reversed().drop(while: isSpace).reversed(), as: UTF8.self)
  }

  private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
}
