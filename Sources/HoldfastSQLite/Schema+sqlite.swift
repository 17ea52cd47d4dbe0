package import HoldfastCore

// The SQLite representation of the schema's values and types, the same on the device and on the server.

extension Value {
  /// The value that SQLite stores. No column type stores a blob, so it becomes its text. It is then refused by name, and not lost.
  package init(_ value: SQLiteValue) {
    switch value {
    case .null: self = .null
    case .integer(let number): self = .integer(number)
    case .real(let number): self = .real(number)
    case .text(let text): self = .text(text)
    case .blob(let bytes): self = .text(String(decoding: bytes, as: UTF8.self))
    }
  }
}

extension SQLiteValue {
  /// The value in SQLite's representation.
  package init(_ value: Value) {
    switch value {
    case .null: self = .null
    case .integer(let number): self = .integer(number)
    case .real(let number): self = .real(number)
    case .text(let text): self = .text(text)
    }
  }
}

extension ColumnType {
  /// The column's type in CREATE TABLE.
  package var affinity: String {
    switch self {
    case .integer, .boolean: "INTEGER"
    case .real: "REAL"
    case .text, .timestamp, .json, .reference, .position: "TEXT"
    }
  }
}

extension SyncSchema.Link {
  /// The statement that creates the index for finding the children of a record.
  package func index(in schema: SyncSchema) -> String {
    let (table, column) = (schema.tables[table].name, schema.tables[table].columns[column].name)
    return "CREATE INDEX \"holdfast_\(table)_of_\(column)\" ON \"\(table)\" (\"\(column)\");\n"
  }
}

extension Statement {
  /// Binds a column's value, copying it.
  ///
  /// - Parameters:
  ///   - value: what is bound.
  ///   - index: the parameter's number, from 1.
  /// - Throws: `.range`, `.misuse` while the statement runs, `.tooBig`.
  package func bind(_ value: Value, at index: Int) throws(SQLiteError) {
    switch value {
    case .null: try bindNull(at: index)
    case .integer(let number): try bind(number, at: index)
    case .real(let number): try bind(number, at: index)
    case .text(let text): try bind(text, at: index)
    }
  }

  /// A column of the row as a value of the schema.
  ///
  /// - Parameter index: the column's number, from 0.
  package func columnValue(_ index: Int) -> Value {
    switch columnKind(index) {
    case .null: .null
    case .integer: .integer(integer(index))
    case .real: .real(real(index))
    case .text, .blob: .text(text(index))
    }
  }
}
