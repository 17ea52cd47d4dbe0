import HoldfastCore
import HoldfastSQLite

/// Writing rows as an app does: the triggers record what is written.
struct RowWriter {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }

  func insert(_ columns: [(name: String, value: SQLiteValue)], into table: String) throws {
    let names = columns.map { "\"\($0.name)\"" }.joined(separator: ", ")
    let marks = columns.map { _ in "?" }.joined(separator: ", ")
    try connection.run("INSERT INTO \"\(table)\" (\(names)) VALUES (\(marks))", columns.map(\.value))
  }

  /// Gives columns of a record other values; none is no statement.
  func update(_ columns: [(name: String, value: SQLiteValue)], of id: String, in table: String) throws {
    if columns.isEmpty { return }
    let sets = columns.map { "\"\($0.name)\" = ?" }.joined(separator: ", ")
    try connection.run(
      "UPDATE \"\(table)\" SET \(sets) WHERE \"id\" = ?", columns.map(\.value) + [.text(id)])
  }

  /// Inserts a record, as an ordinary edit.
  func insert(_ table: Int, _ id: String, _ values: TextMap<SQLiteValue>) throws {
    try insert([("id", .text(id))] + Self.sorted(values), into: schema.tables[table].name)
  }

  /// Gives columns of a record other values, as an ordinary edit.
  func update(_ table: Int, _ id: String, _ values: TextMap<SQLiteValue>) throws {
    try update(Self.sorted(values), of: id, in: schema.tables[table].name)
  }

  /// Inserts a record that was here before, as an ordinary edit. A reference that may be empty is left out
  /// where what it names is gone.
  ///
  /// - Parameter values: by column; those that are missing get their defaults.
  /// - Returns: the column of a required reference that names no record here; then nothing was inserted.
  func insertAgain(
    _ table: Int, _ id: String, zone: SQLiteValue, _ values: TextMap<SQLiteValue>
  ) throws -> String? {
    var values = values
    for link in schema.links(of: table) where link.isInZone {
      let column = schema.tables[table].columns[link.column]
      guard let target = values[column.name]?.text, target != id,
        try database.row(link.target, target) == nil
      else { continue }
      if column.required { return column.name }
      values[column.name] = .null
    }
    if schema.tables[table].zone == .explicit { values["zone"] = zone }
    try insert(table, id, values)
    return nil
  }

  private static func sorted(_ values: TextMap<SQLiteValue>) -> [(name: String, value: SQLiteValue)] {
    values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}
