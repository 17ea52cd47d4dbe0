package import HoldfastCore

extension ColumnSchema {
  /// What a device has where the server sends no value of the column, since its schema has it not yet, or no longer: the default; where a value is
  /// required and there is no default, the emptiest of its type. Only a required reference has none: a record without it is left out.
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
