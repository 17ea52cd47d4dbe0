/// The former names of tables and columns in the server's schema, as sent to older apps: docs/SCHEMA-CHANGES.md, section 2.
package struct FormerNames: Sendable, Hashable {
  /// By the current name of a table: its former names.
  private var tables: TextMap<[String]> = [:]
  /// By the current names of a table and a column: the former names.
  private var columns: TextMap<TextMap<[String]>> = [:]

  /// No former names.
  package init() {}

  /// The former names in a schema.
  package init(_ schema: SyncSchema) {
    for table in schema.tables {
      if !table.was.isEmpty { tables[table.name] = table.was }
      for column in table.columns where !column.was.isEmpty {
        columns[table.name, default: [:]][column.name] = column.was
      }
    }
  }

  /// Parses the form of `json`.
  ///
  /// - Throws: `JSONError`.
  package init(_ reader: inout JSONReader) throws {
    try reader.readObject { key, reader in
      switch key {
      case "tables": tables = try Self.readNames(&reader)
      case "columns":
        try reader.readObject { key, reader in
          let table = key.string
          columns[table] = try Self.readNames(&reader)
        }
      default: try reader.skipValue()
      }
    }
  }

  private static func readNames(_ reader: inout JSONReader) throws -> TextMap<[String]> {
    var names: TextMap<[String]> = [:]
    try reader.readObject { key, reader in
      let name = key.string
      try reader.readArray { names[name, default: []].append(try $0.readString()) }
    }
    return names
  }

  /// Whether there are none.
  package var isEmpty: Bool { tables.isEmpty && columns.isEmpty }

  /// The names as a member of a sync answer.
  package var json: JSONValue {
    func object(_ names: TextMap<[String]>) -> JSONValue {
      .object(names.sorted { $0.key < $1.key }.map { .init($0.key, .array($0.value.map { .string($0) })) })
    }
    return .object([
      .init("tables", object(tables)),
      .init("columns", .object(columns.sorted { $0.key < $1.key }.map { .init($0.key, object($0.value)) })),
    ])
  }

  // MARK: Names on the server

  /// Whether the server's name `theirs` means a table of this app's schema.
  package func isName(_ theirs: String, of table: TableSchema) -> Bool {
    Self.isSame(theirs, table.name, table.was, tables[theirs])
  }

  /// Whether the server calls a column of this app's schema so.
  ///
  /// - Parameters:
  ///   - theirs: the server's name.
  ///   - column: the column of this app's schema.
  ///   - table: what the server calls the table.
  package func isName(_ theirs: String, of column: ColumnSchema, in table: String) -> Bool {
    Self.isSame(theirs, column.name, column.was, columns[table]?[theirs])
  }

  private static func isSame(_ theirs: String, _ name: String, _ was: [String], _ before: [String]?) -> Bool {
    theirs == name || was.contains(theirs) || before?.contains { $0 == name || was.contains($0) } ?? false
  }

  /// The other names that the server may use for a table of this app's schema.
  package func others(of table: TableSchema) -> [String] {
    table.was
      + tables.keys.filter { $0 != table.name && !table.was.contains($0) && isName($0, of: table) }.sorted()
  }

  /// The other names that the server may use for the columns of a table of this app's schema.
  package func otherColumns(of table: TableSchema) -> [(name: String, column: Int)] {
    let names = ([table.name] + others(of: table)).flatMap { name in
      (columns[name] ?? [:]).keys.sorted().compactMap { theirs in
        table.index(of: theirs) == nil
          ? table.columns.firstIndex { isName(theirs, of: $0, in: name) }.map { (theirs, $0) } : nil
      }
    }
    let own = table.columns.enumerated().flatMap { index, column in column.was.map { ($0, index) } }
    return own + names.filter { name, _ in !own.contains { $0.0 == name } }
  }
}
