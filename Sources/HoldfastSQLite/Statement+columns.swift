internal import CSQLite

// Columns are numbered from 0 and hold values after `step()` has returned true, until the next `step()` or
// `reset()`. A number past the last column, or reading without a row, gives NULL (0, "", no bytes).
extension Statement {
  /// The number of columns of a row; 0 for a statement that returns none.
  package var columnCount: Int { Int(sqlite3_column_count(handle)) }

  /// The name of a column, from 0: its AS name, if it has one.
  package func columnName(_ index: Int) -> String {
    sqlite3_column_name(handle, Int32(clamping: index)).map { String(cString: $0) } ?? ""
  }

  /// The storage class of a column's value, from 0. Call it before the value is read as another type.
  package func columnKind(_ index: Int) -> SQLiteValue.Kind {
    switch sqlite3_column_type(handle, Int32(clamping: index)) {
    case SQLITE_INTEGER: .integer
    case SQLITE_FLOAT: .real
    case SQLITE_TEXT: .text
    case SQLITE_BLOB: .blob
    default: .null
    }
  }

  /// Whether a column, from 0, is NULL.
  package func isNull(_ index: Int) -> Bool {
    sqlite3_column_type(handle, Int32(clamping: index)) == SQLITE_NULL
  }

  /// A column, from 0, as an integer; converted as SQLite's CAST does, NULL is 0.
  package func integer(_ index: Int) -> Int64 { sqlite3_column_int64(handle, Int32(clamping: index)) }

  /// A column, from 0, as a floating point number; converted as SQLite's CAST does, NULL is 0.
  package func real(_ index: Int) -> Double { sqlite3_column_double(handle, Int32(clamping: index)) }

  /// A column, from 0, as text; NULL is empty. Bytes that are not UTF-8 are replaced by U+FFFD.
  package func text(_ index: Int) -> String { String(decoding: textBytes(index), as: UTF8.self) }

  /// A column, from 0, as bytes; NULL is empty.
  package func blob(_ index: Int) -> [UInt8] { withBlob(index) { [UInt8]($0) } }

  /// A column, from 0, in its own storage class. A text with invalid UTF-8 is returned as its bytes, so that nothing is lost.
  package func value(_ index: Int) -> SQLiteValue {
    switch columnKind(index) {
    case .null: .null
    case .integer: .integer(integer(index))
    case .real: .real(real(index))
    case .text: validText(index).map { .text($0) } ?? .blob(blob(index))
    case .blob: .blob(blob(index))
    }
  }

  /// A text column, from 0; nil if it is not valid UTF-8.
  private func validText(_ index: Int) -> String? {
    let bytes = textBytes(index)
    if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) {
      return String(validating: bytes, as: UTF8.self)
    }
    // What is no UTF-8 is replaced, and then is not the same any more.
    let text = String(decoding: bytes, as: UTF8.self)
    return text.utf8.elementsEqual(bytes) ? text : nil
  }

  /// Every column of the row, in order.
  package var values: [SQLiteValue] { (0..<columnCount).map { value($0) } }

  /// Lends the UTF-8 bytes of a text column, from 0, without copying them.
  ///
  /// - Parameters:
  ///   - index: the column, from 0.
  ///   - body: gets the bytes, which are valid only while it runs, and which nobody has checked to be
  ///     UTF-8. It must not step, reset or read the same column as another kind.
  package func withText<T, E: Error>(
    _ index: Int, _ body: (UnsafeBufferPointer<UInt8>) throws(E) -> T
  ) throws(E) -> T {
    try body(textBytes(index))
  }

  /// Lends the bytes of a blob column, from 0, without copying them.
  ///
  /// - Parameters:
  ///   - index: the column, from 0.
  ///   - body: gets the bytes, which are valid only while it runs. It must not step, reset or read
  ///     the same column as another kind.
  package func withBlob<T, E: Error>(
    _ index: Int, _ body: (UnsafeRawBufferPointer) throws(E) -> T
  ) throws(E) -> T {
    try body(blobBytes(index))
  }

  func textBytes(_ index: Int) -> UnsafeBufferPointer<UInt8> {
    // SQLite requires this order: the pointer first, then the length.
    let bytes = sqlite3_column_text(handle, Int32(clamping: index))
    return UnsafeBufferPointer(
      start: bytes, count: bytes == nil ? 0 : Int(sqlite3_column_bytes(handle, Int32(clamping: index))))
  }

  func blobBytes(_ index: Int) -> UnsafeRawBufferPointer {
    let bytes = sqlite3_column_blob(handle, Int32(clamping: index))
    return UnsafeRawBufferPointer(
      start: bytes, count: bytes == nil ? 0 : Int(sqlite3_column_bytes(handle, Int32(clamping: index))))
  }
}
