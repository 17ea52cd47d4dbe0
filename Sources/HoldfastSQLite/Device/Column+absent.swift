package import HoldfastCore

extension ColumnSchema {
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
