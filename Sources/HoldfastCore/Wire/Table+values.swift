extension TableSchema {
  /// Reads and checks the column values in an object.
  ///
  /// - Parameters:
  ///   - columns: a JSON object whose grammar was checked.
  ///   - other: handles a member that is no column; returns whether it is known.
  /// - Returns: a value for each column, in order; nil for absent columns.
  /// - Throws: `Problem` naming the column; `JSONError` for a number out of range.
  package func values(
    in columns: UnsafeBufferPointer<UInt8>,
    other: (JSONKey, inout JSONReader) throws -> Bool = { _, _ in false }
  ) throws -> [Value?] {
    var values = noValues
    try JSONReader.read(columns) { reader in
      try reader.readObject { key, reader in
        if try other(key, &reader) { return }
        guard let index = index(called: key) else {
          throw Problem(.unknownColumn, "\(name) has no column \(key.string.prefix(64)).")
        }
        if values[index] != nil { throw namedTwice(index) }
        let value = try self.columns[index].value(from: &reader)
        try self.columns[index].check(value)
        values[index] = value
      }
    }
    return values
  }

  /// Nil for each column. `Array(repeating:count:)` would look the type up at run time, for each record.
  var noValues: [Value?] { columns.map { _ in nil } }

  /// The problem of an operation that sets a column twice, by its current and a former name.
  package func namedTwice(_ column: Int) -> Problem {
    Problem(.invalidOperation, "\(name).\(columns[column].name) is named twice.")
  }

  /// Checks that users may write the columns of an update. In `conflicts` only the resolution is writable.
  ///
  /// - Throws: `Problem.readOnlyTable` naming the column.
  package func checkWritable(_ settings: [RecordOperation.Setting]) throws(Problem) {
    if zone != .server { return }
    for setting in settings where columns[setting.column].name != TableSchema.resolutionColumn {
      throw Problem(.readOnlyTable, "\(name).\(columns[setting.column].name)")
    }
  }

  /// Fills in the missing columns of a new record: the default, or null.
  ///
  /// - Throws: `Problem.valueMissing` naming a required column.
  package func completed(_ values: [Value?]) throws(Problem) -> [Value?] {
    var values = values
    for (index, column) in columns.enumerated() where values[index] == nil {
      let value = column.defaultValue ?? .null
      try column.check(value)
      values[index] = value
    }
    return values
  }
}
