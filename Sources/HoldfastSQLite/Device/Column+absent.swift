package import HoldfastCore

extension ColumnSchema {
  /// Reads a value that the server sends; nil for one that counts as not sent: of another type, as a column's name may have been used again, or null
  /// where a value is required.
  package func sentValue(from reader: inout JSONReader) throws -> Value? {
    let start = reader.offset
    do {
      let value = try value(from: &reader)
      return value == .null && required ? nil : value
    } catch is Problem {
      // A value of another kind was not read.
      if reader.offset == start { try reader.skipValue() }
      return nil
    }
  }

  /// The value on the device if the server sends none, because its schema lacks the column: the default. For a required column without
  /// default, it is the empty value of the type. A required reference has no usable empty value, so a record without it is left out.
  package var absentValue: Value {
    if let defaultValue, defaultValue != .null { return defaultValue }
    if !required { return .null }
    return switch type {
    case .text, .reference, .position: .text("")
    case .integer, .boolean: .integer(0)
    case .real: .real(0)
    case .timestamp: .text(Timestamp.text(milliseconds: 0))
    case .json: .text("null")
    }
  }
}
