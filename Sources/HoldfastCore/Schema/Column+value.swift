extension ColumnSchema {
  /// Reads a value according to the column's type.
  ///
  /// - Throws: `Problem` with `invalidValue` if the JSON is of another type.
  package func value(from reader: inout JSONReader) throws -> Value {
    let kind = try reader.peekKind()
    switch (type, kind) {
    case (_, .null):
      // Also for JSON columns: the wire has only one null, so both databases store one.
      try reader.readNull()
      return .null
    case (.json, _):
      return .text(String(decoding: try reader.readRawValue(), as: UTF8.self))
    case (.text, .string), (.timestamp, .string), (.reference, .string), (.position, .string):
      return .text(try reader.readString())
    case (.boolean, .bool):
      return .integer(try reader.readBool() ? 1 : 0)
    case (.integer, .number), (.real, .number):
      switch (type, try reader.readNumber()) {
      case (.integer, .integer(let number)): return .integer(number)
      case (.real, .integer(let number)): return .real(Double(number))
      case (.real, .real(let number)): return .real(number)
      default: break
      }
    default: break
    }
    throw Problem(.invalidValue, "\(name) must be of type \(type.rawValue).")
  }
}
