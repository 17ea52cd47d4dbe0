import Holdfast

/// What a person types for the value of a column.
enum TypedValue {
  /// Reads it by the column's type; nothing stands for no value.
  ///
  /// - Throws: `Failure` when there is no such column, or it takes no such text.
  static func json(_ text: String, _ name: String, of table: String, _ schema: SyncSchema) throws -> JSONValue
  {
    guard let column = schema.table(table)?.columns.first(where: { $0.name == name }) else {
      throw Failure(.data, "\(table) has no column \(name).")
    }
    if text.isEmpty, !column.required { return .null }
    switch column.type {
    case .text, .timestamp, .reference, .position: return .string(text)
    case .integer, .real, .boolean, .json:
      guard let value = try? JSONValue(parsing: text) else {
        throw Failure(.data, "\(name) must be of type \(column.type.rawValue), not \"\(text)\".")
      }
      return value
    }
  }

  /// The same in the form that SQLite keeps.
  static func read(_ text: String, _ name: String, of table: String, _ schema: SyncSchema) throws
    -> SQLiteValue
  {
    switch try json(text, name, of: table, schema) {
    case .null: .null
    case .bool(let isTrue): .integer(isTrue ? 1 : 0)
    case .integer(let number): .integer(number)
    case .real(let number): .real(number)
    case .string, .array, .object: .text(text)
    }
  }
}
