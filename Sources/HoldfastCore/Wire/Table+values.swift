extension TableSchema {
  /// Reads the values that an object gives to columns, and checks them.
  ///
  /// - Parameters:
  ///   - columns: an object of JSON whose grammar was checked.
  ///   - other: takes a member from the reader that is no column, and says whether it is known all the same.
  /// - Returns: a value for each column, in their order; nil for those that the object does not name.
  /// - Throws: `Problem` naming the column; `JSONError` for a number beyond the finite doubles.
  public func values(
    in columns: UnsafeBufferPointer<UInt8>,
    other: (JSONKey, inout JSONReader) throws -> Bool = { _, _ in false }
  ) throws -> [Value?] {
    var values: [Value?] = Array(repeating: nil, count: self.columns.count)
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

  /// What is wrong with an operation that gives a column two values: by its name, and by one that it had before.
  public func namedTwice(_ column: Int) -> Problem {
    Problem(.invalidOperation, "\(name).\(columns[column].name) is named twice.")
  }

  /// Checks that people may write what an update sets: of a table that the server writes, their choice alone.
  ///
  /// - Throws: `Problem.readOnlyTable` naming the column.
  public func checkWritable(_ settings: [RecordOperation.Setting]) throws(Problem) {
    if zone != .server { return }
    for setting in settings where columns[setting.column].name != TableSchema.resolutionColumn {
      throw Problem(.readOnlyTable, "\(name).\(columns[setting.column].name)")
    }
  }

  /// Fills in what is missing of a whole record: defaults, or null.
  ///
  /// - Throws: `Problem.valueMissing` naming a column that must have a value.
  public func completed(_ values: [Value?]) throws(Problem) -> [Value?] {
    var values = values
    for (index, column) in columns.enumerated() where values[index] == nil {
      let value = column.defaultValue ?? .null
      try column.check(value)
      values[index] = value
    }
    return values
  }
}
