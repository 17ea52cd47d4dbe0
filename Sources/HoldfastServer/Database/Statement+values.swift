import HoldfastCore
import HoldfastSQLite

extension Statement {
  /// Binds a column's value.
  func bind(_ value: Value, at index: Int) throws(SQLiteError) {
    switch value {
    case .null: try bindNull(at: index)
    case .integer(let number): try bind(number, at: index)
    case .real(let number): try bind(number, at: index)
    case .text(let text): try bind(text, at: index)
    }
  }

  /// A column's value as it is stored.
  func columnValue(_ index: Int) -> Value {
    switch columnKind(index) {
    case .null: .null
    case .integer: .integer(integer(index))
    case .real: .real(real(index))
    case .text, .blob: .text(text(index))
    }
  }

  /// The first row's first column as text; nil when there is no row. Leaves the statement reset.
  func firstText() throws(SQLiteError) -> String? {
    defer { reset() }
    return try step() ? text(0) : nil
  }

  /// Whether there is a row. Leaves the statement reset.
  func hasRow() throws(SQLiteError) -> Bool {
    defer { reset() }
    return try step()
  }
}
