import HoldfastCore
import HoldfastSQLite

extension LocalDatabase {
  /// Inserts a record that was here before, as an ordinary edit. A reference that may be empty is left out where what it names is gone.
  ///
  /// - Parameter values: by column; those that are missing get their defaults.
  /// - Returns: the column of a required reference that names no record here; then nothing was inserted.
  func insertAgain(
    _ table: Int, _ id: String, zone: SQLiteValue, _ values: TextMap<SQLiteValue>
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
  func insert(_ table: Int, _ id: String, _ values: TextMap<SQLiteValue>) throws {
    try insert([("id", .text(id))] + Self.sorted(values), into: schema.tables[table].name)
  }

  /// Gives columns of a record other values, as an ordinary edit.
  func update(_ table: Int, _ id: String, _ values: TextMap<SQLiteValue>) throws {
    try update(Self.sorted(values), of: id, in: schema.tables[table].name)
  }

  private static func sorted(_ values: TextMap<SQLiteValue>) -> [(name: String, value: SQLiteValue)] {
    values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}
