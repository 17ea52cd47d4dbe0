import HoldfastCore
import HoldfastSQLite

/// Another SQLite file whose tables or views have the names of this store's tables.
struct SQLiteSource {
  /// What is read for one table of the schema.
  struct Table {
    let name: String
    /// Its name in the file.
    let source: String
    /// The expression of a record's key.
    let key: String
    /// The columns of the schema, each with its name in the file.
    let columns: [(name: String, source: String)]
  }

  private let connection: SQLiteConnection
  /// What is read, those first that others refer to.
  let tables: [Table]
  /// What the schema does not have.
  let ignored: [String]
  /// Of a file of this library, the zones of others and the public ones, whose records are not read; nil of another file.
  private let otherZones: DeviceZones?

  /// - Parameter writable: the zones of the store that its user may write to.
  /// - Throws: `SQLiteError`; `StoreError.valueUnfit` for a view without a column `id`.
  init(path: String, schema: SyncSchema, writable: [String]) throws {
    connection = try SQLiteConnection(path: path, access: .readOnly)
    let isDevice = try connection.value("PRAGMA application_id") == .integer(DeviceTables.applicationID)
    otherZones = isDevice ? try DeviceZones(connection, writable: writable, public: schema.publicZones) : nil
    let names = try connection.rows(
      "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
    )
    var tables: [Table] = []
    var ignored: [String] = []
    for row in names {
      guard let source = row[0].text else { continue }
      guard let index = Self.match(source, in: schema.tables.map(\.name)),
        !schema.tables[index].isBuiltIn
      else {
        if !isDevice || !Self.isOfDevice(source, schema) { ignored.append(source) }
        continue
      }
      let table = schema.tables[index]
      let (found, others) = try Self.table(source, isView: row[1].text == "view", for: table, connection)
      // Of two that fit, the one of the very name.
      if let other = tables.firstIndex(where: { $0.name == table.name }) {
        if source == table.name { tables[other] = found }
        continue
      }
      tables.append(found)
      ignored += others.filter { !isDevice || !["zone", "rev"].contains($0) }.map { "\(source).\($0)" }
    }
    self.tables = Self.sorted(tables, in: schema)
    self.ignored = ignored
  }

  /// Reads the records of a table, some at a time.
  func read(_ table: Table, batch: Int, _ body: ([ImportedRecord]) async throws -> Void) async throws {
    let columns = [table.key] + table.columns.map { SQLiteName.quoted($0.source) }
    let condition = otherZones == nil ? "" : "WHERE \(DeviceZones.isOwn)"
    let statement = try connection.statement(
      "SELECT \(columns.joined(separator: ", ")) FROM \(SQLiteName.quoted(table.source)) \(condition)")
    defer { statement.reset() }
    if let otherZones { try statement.bind(otherZones.list, at: 1) }
    var records: [ImportedRecord] = []
    while try statement.step() {
      let values = statement.values
      var columns: TextMap<SQLiteValue> = [:]
      for (column, value) in zip(table.columns, values.dropFirst()) { columns[column.name] = value }
      let key = ImportedValue.key(values[0]) ?? ""
      records.append(ImportedRecord(table: table.name, key: key, columns: columns))
      if records.count == batch {
        try await body(records)
        records = []
      }
    }
    if !records.isEmpty { try await body(records) }
  }

  /// How many records are left out as they are in zones of others, by table and zone.
  func recordsOfOthers() throws -> [ImportReport.Problem] {
    guard let otherZones else { return [] }
    return try tables.flatMap { try otherZones.problems(of: $0.source, named: $0.name, connection) }
  }

  /// Whether a table is one of this library's own.
  private static func isOfDevice(_ name: String, _ schema: SyncSchema) -> Bool {
    name.hasPrefix("holdfast_") || schema.table(name)?.isBuiltIn == true
  }

  private static func table(
    _ source: String, isView: Bool, for table: TableSchema, _ connection: SQLiteConnection
  ) throws -> (Table, ignored: [String]) {
    let rows = try connection.rows("SELECT name, pk FROM pragma_table_info(?)", [.text(source)])
    let names = rows.compactMap { $0[0].text }
    let primary = rows.filter { $0[1].integer ?? 0 > 0 }.compactMap { $0[0].text }
    let key: String
    if names.contains("id") {
      key = "id"
    } else if primary.count == 1 {
      key = primary[0]
    } else if !isView {
      key = "rowid"
    } else {
      throw StoreError(
        .valueUnfit, "The view \(source) has no column \"id\". Give it one with the key of the record.")
    }
    var columns: [(name: String, source: String)] = []
    var ignored: [String] = []
    for name in names where name != key {
      guard let index = match(name, in: table.columns.map(\.name)) else {
        ignored.append(name)
        continue
      }
      columns.append((table.columns[index].name, name))
    }
    return (Table(name: table.name, source: source, key: SQLiteName.quoted(key), columns: columns), ignored)
  }

  /// Those first that others refer to; tables that refer to each other in a circle in any order.
  private static func sorted(_ tables: [Table], in schema: SyncSchema) -> [Table] {
    var sorted: [Table] = []
    var seen: TextSet = []
    func visit(_ table: Table) {
      guard seen.insert(table.name).inserted else { return }
      for column in schema.table(table.name)?.columns ?? [] {
        if let target = tables.first(where: { $0.name == column.reference?.table }) { visit(target) }
      }
      sorted.append(table)
    }
    for table in tables { visit(table) }
    return sorted
  }

  /// The name among those of a schema that another database's name stands for.
  private static func match(_ name: String, in names: [String]) -> Int? {
    names.firstIndex(of: name) ?? names.firstIndex(of: ImportedName.snakeCase(name))
  }
}

/// Names of other databases in the form of a schema's.
package enum ImportedName {
  /// `listID` and `ListId` as `list_id`.
  package static func snakeCase(_ name: String) -> String {
    let scalars = Array(name.unicodeScalars)
    func isUpper(_ index: Int) -> Bool { scalars[index].properties.isUppercase }
    var text = ""
    for (index, scalar) in scalars.enumerated() {
      if isUpper(index), index > 0, scalars[index - 1] != "_",
        !isUpper(index - 1) || (index + 1 < scalars.count && !isUpper(index + 1) && scalars[index + 1] != "_")
      {
        text += "_"
      }
      text += scalar.properties.lowercaseMapping
    }
    return text
  }
}
