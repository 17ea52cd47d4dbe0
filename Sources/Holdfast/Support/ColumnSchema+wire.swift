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
}
