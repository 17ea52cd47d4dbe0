import HoldfastCore
import HoldfastSQLite

extension LocalDatabase {
  /// Inserts a record that was here before, as an ordinary edit. A reference that may be empty is left out where what it names is gone.
  ///
  /// - Parameter values: by column; those that are missing get their defaults.
  /// - Returns: the column of a required reference that names no record here; then nothing was inserted.
  func insertAgain(
    _ table: Int, _ id: String, zone: SQLiteValue, _ values: [String: SQLiteValue]
  ) throws -> String? {
    var values = values
    for link in schema.links(of: table) where link.isInZone {
      let column = schema.tables[table].columns[link.column]
      guard let target = values[column.name]?.text, target != id, try row(link.target, target) == nil else {
        continue
      }
      if column.required { return column.name }
      values[column.name] = .null
    }
    if schema.tables[table].zone == .explicit { values["zone"] = zone }
    try insert(table, id, values)
    return nil
  }

  /// Inserts a record, as an ordinary edit.
  func insert(_ table: Int, _ id: String, _ values: [String: SQLiteValue]) throws {
    let columns =
      [("id", SQLiteValue.text(id))] + values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    let names = columns.map { "\"\($0.0)\"" }.joined(separator: ", ")
    let marks = columns.map { _ in "?" }.joined(separator: ", ")
    try connection.run(
      "INSERT INTO \"\(schema.tables[table].name)\" (\(names)) VALUES (\(marks))", columns.map(\.1))
  }

  /// Gives columns of a record other values, as an ordinary edit.
  func update(_ table: Int, _ id: String, _ values: [String: SQLiteValue]) throws {
    if values.isEmpty { return }
    let columns = values.sorted { $0.key < $1.key }
    let sets = columns.map { "\"\($0.key)\" = ?" }.joined(separator: ", ")
    try connection.run(
      "UPDATE \"\(schema.tables[table].name)\" SET \(sets) WHERE \"id\" = ?",
      columns.map(\.value) + [.text(id)])
  }
}
