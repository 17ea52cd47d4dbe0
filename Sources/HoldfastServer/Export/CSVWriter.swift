import HoldfastCore
import HoldfastService

/// Writes records of one table as comma-separated values.
///
/// Sources: RFC 4180; OWASP, "CSV Injection". An empty text is quoted and null is not, to distinguish them. A text that a spreadsheet would
/// evaluate as a formula gets a leading `'`. So does such a text after one or more `'`, to keep the escaping reversible.
struct CSVWriter {
  /// The bytes that require quoting.
  private static let special = Set("\",\r\n".utf8)

  /// The bytes that begin a formula.
  private static let formula = Set("=+-@\t\r\n".utf8)

  var bytes: [UInt8] = []
  private let columns: [ColumnSchema]

  init(_ table: TableSchema) { columns = table.columns }

  /// Writes the header line with the column names.
  mutating func writeHeader() { write(["id", "zone", "rev"] + columns.map(\.name)) }

  /// Writes a record.
  mutating func write(_ record: StoredRecord) {
    write(
      [Self.escaped(record.id), Self.escaped(record.zone), String(record.rev)]
        + zip(record.values, columns).map { Self.text($0, of: $1) })
  }

  private mutating func write(_ fields: [String?]) {
    for (index, field) in fields.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      guard let field else { continue }
      guard field.isEmpty || field.utf8.contains(where: Self.special.contains) else {
        bytes += field.utf8
        continue
      }
      bytes.append(UInt8(ascii: "\""))
      for byte in field.utf8 {
        if byte == UInt8(ascii: "\"") { bytes.append(byte) }
        bytes.append(byte)
      }
      bytes.append(UInt8(ascii: "\""))
    }
    bytes += [UInt8(ascii: "\r"), UInt8(ascii: "\n")]
  }

  /// Escapes a text that a spreadsheet would evaluate as a formula.
  private static func escaped(_ text: String) -> String {
    let first = text.utf8.first { $0 != UInt8(ascii: "'") }
    return first.map(formula.contains) == true ? "'" + text : text
  }

  /// The JSON form of a value, but texts unquoted; nil for null.
  private static func text(_ value: Value, of column: ColumnSchema) -> String? {
    switch value {
    case .null: return nil
    case .text(let text): return escaped(text)
    case .integer, .real:
      var writer = JSONWriter()
      writer.value(value, of: column)
      return String(decoding: writer.bytes, as: UTF8.self)
    }
  }
}
