package import HoldfastCore

extension ColumnSchema {
  /// Reads a value that the server sends. One that this app's column can't have is null: its name may have been used again for a column of another type.
  package func valueOrNull(from reader: inout JSONReader) throws -> Value {
    let start = reader.offset
    do { return try value(from: &reader) } catch is Problem {
      // A value of another kind was not read.
      if reader.offset == start { try reader.skipValue() }
      return .null
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
