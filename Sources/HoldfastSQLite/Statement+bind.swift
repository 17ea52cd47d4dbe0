internal import CSQLite

// Parameters are numbered from 1. Every function here throws `.range` for a number that the statement doesn't
// have, `.misuse` while the statement is running, and `.tooBig` for a value over the connection's limit.
extension Statement {
  /// Binds a value of any type, copying it.
  ///
  /// - Parameters:
  ///   - value: what is bound.
  ///   - index: the parameter's number, from 1.
  /// - Throws: `.range`, `.misuse` while the statement runs, `.tooBig`.
  package func bind(_ value: SQLiteValue, at index: Int) throws(SQLiteError) {
    switch value {
    case .null: try bindNull(at: index)
    case .integer(let value): try bind(value, at: index)
    case .real(let value): try bind(value, at: index)
    case .text(let value): try bind(value, at: index)
    case .blob(let value):
      try check(
        value.withUnsafeBytes {
          holdfast_bind_blob(handle, Int32(clamping: index), $0.baseAddress, UInt64($0.count))
        })
    }
  }

  /// Binds an integer.
  ///
  /// - Parameters:
  ///   - value: what is bound.
  ///   - index: the parameter's number, from 1.
  /// - Throws: `.range`, `.misuse` while the statement runs.
  package func bind(_ value: Int64, at index: Int) throws(SQLiteError) {
    try check(sqlite3_bind_int64(handle, Int32(clamping: index), value))
  }

  /// Binds an integer.
  ///
  /// - Parameters:
  ///   - value: what is bound.
  ///   - index: the parameter's number, from 1.
  /// - Throws: `.range`, `.misuse` while the statement runs.
  package func bind(_ value: Int, at index: Int) throws(SQLiteError) {
    try bind(Int64(value), at: index)
  }

  /// Binds a floating point number; one that is not a number becomes NULL.
  ///
  /// - Parameters:
  ///   - value: what is bound.
  ///   - index: the parameter's number, from 1.
  /// - Throws: `.range`, `.misuse` while the statement runs.
  package func bind(_ value: Double, at index: Int) throws(SQLiteError) {
    try check(sqlite3_bind_double(handle, Int32(clamping: index), value))
  }

  /// Binds text, copying it.
  ///
  /// - Parameters:
  ///   - value: what is bound.
  ///   - index: the parameter's number, from 1.
  /// - Throws: `.range`, `.misuse` while the statement runs, `.tooBig`.
  package func bind(_ value: String, at index: Int) throws(SQLiteError) {
    var value = value
    try check(
      value.withUTF8 {
        holdfast_bind_text(handle, Int32(clamping: index), $0.baseAddress, UInt64($0.count))
      })
  }

  /// Binds UTF-8 bytes as text, copying them. They are not checked.
  ///
  /// - Parameters:
  ///   - text: what is bound.
  ///   - index: the parameter's number, from 1.
  /// - Throws: `.range`, `.misuse` while the statement runs, `.tooBig`.
  package func bind(text: UnsafeBufferPointer<UInt8>, at index: Int) throws(SQLiteError) {
    try check(holdfast_bind_text(handle, Int32(clamping: index), text.baseAddress, UInt64(text.count)))
  }

  /// Binds UTF-8 bytes as text without copying them. They are not checked.
  ///
  /// - Parameters:
  ///   - staticText: the bytes; the caller keeps them alive and unchanged until the parameter is bound again
  ///     or cleared, or until the statement will not be stepped again.
  ///   - index: the parameter's number, from 1.
  /// - Throws: `.range`, `.misuse` while the statement runs, `.tooBig`.
  package func bind(staticText: UnsafeBufferPointer<UInt8>, at index: Int) throws(SQLiteError) {
    try check(
      holdfast_bind_text_static(
        handle, Int32(clamping: index), staticText.baseAddress, UInt64(staticText.count)))
  }

  /// Binds bytes as a blob, copying them.
  ///
  /// - Parameters:
  ///   - blob: what is bound.
  ///   - index: the parameter's number, from 1.
  /// - Throws: `.range`, `.misuse` while the statement runs, `.tooBig`.
  package func bind(blob: UnsafeRawBufferPointer, at index: Int) throws(SQLiteError) {
    try check(holdfast_bind_blob(handle, Int32(clamping: index), blob.baseAddress, UInt64(blob.count)))
  }

  /// Binds NULL.
  ///
  /// - Parameter index: the parameter's number, from 1.
  /// - Throws: `.range`, `.misuse` while the statement runs.
  package func bindNull(at index: Int) throws(SQLiteError) {
    try check(sqlite3_bind_null(handle, Int32(clamping: index)))
  }

  /// Binds every parameter in order.
  ///
  /// - Parameter values: one for each parameter.
  /// - Throws: `.range` if the count is wrong; `.misuse` while the statement runs; `.tooBig`.
  package func bind(_ values: [SQLiteValue]) throws(SQLiteError) {
    guard values.count == parameterCount else {
      throw SQLiteError(
        .range, "\(values.count) values for \(parameterCount) parameters", statement: sql)
    }
    for index in values.indices { try bind(values[index], at: index + 1) }
  }

  @inline(__always)
  private func check(_ result: Int32) throws(SQLiteError) {
    if result != SQLITE_OK { throw SQLiteError(result, of: database, statement: sql, while: .running) }
  }
}
