internal import CPostgres

/// The result of one statement: its rows, all in memory, and the number of changed rows.
///
/// Rows and columns are numbered from 0. Reading a missing row or column, another type than the column's, or a null as a value returns an
/// empty value: 0, false, "". The connection's next statement then fails with `.unexpectedValue` and the column's name, before it is sent;
/// see `PostgresConnection.checkValues`. No content of a database ends the process. Use it from one thread at a time; it may outlive its
/// connection.
public final class PostgresRows {
  private let result: OpaquePointer
  private let faults: PostgresFaults

  /// The number of rows.
  public let count: Int

  /// The number of columns.
  public let columnCount: Int

  /// What the columns hold.
  private let kinds: [Kind]

  /// What the values of a type are read as.
  private enum Kind {
    case integer, float, boolean, text, jsonb, other

    /// - Parameter type: its number in `pg_type`.
    init(type: UInt32) {
      self =
        switch type {
        case 20, 21, 23, 26: .integer
        case 700, 701: .float
        case 16: .boolean
        case 19, 25, 114, 705, 1042, 1043: .text
        case 3802: .jsonb
        // Types made by CREATE TYPE or an extension have numbers from 16384; those of enums and citext are texts.
        case 16384...: .text
        default: .other
        }
    }
  }

  /// Takes ownership of a result.
  init(_ result: OpaquePointer, _ faults: PostgresFaults) {
    self.result = result
    self.faults = faults
    count = Int(PQntuples(result))
    columnCount = Int(PQnfields(result))
    kinds = count == 0 ? [] : (0..<PQnfields(result)).map { Kind(type: PQftype(result, $0)) }
  }

  deinit { PQclear(result) }

  /// Whether there are no rows.
  public var isEmpty: Bool { count == 0 }

  /// The row numbers.
  public var indices: Range<Int> { 0..<count }

  /// The texts of the first column.
  public var texts: [String] { indices.map { text($0, 0) } }

  /// The number of rows that the statement inserted, changed, deleted or, for a SELECT, returned; 0 for other statements.
  public var affectedCount: Int {
    PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
  }

  /// The name of a column.
  public func name(ofColumn column: Int) -> String {
    PQfname(result, Int32(clamping: column)).map { String(cString: $0) } ?? "number \(column)"
  }

  /// Whether the value is null.
  public func isNull(_ row: Int, _ column: Int) -> Bool {
    guard let (row, column) = place(row, column) else { return true }
    return PQgetisnull(result, row, column) == 1
  }

  /// The value of a bigint, integer or smallint column.
  public func int64(_ row: Int, _ column: Int) -> Int64 {
    let bytes = field(row, column, of: .integer, "an integer")
    return switch bytes.count {
    case 8: Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
    case 4: Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
    case 2: Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
    default: 0
    }
  }

  /// The value of a double precision or real column.
  public func double(_ row: Int, _ column: Int) -> Double {
    let bytes = field(row, column, of: .float, "a floating point number")
    return switch bytes.count {
    case 8: Double(bitPattern: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)))
    case 4: Double(Float(bitPattern: UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self))))
    default: 0
    }
  }

  /// The value of a boolean column.
  public func bool(_ row: Int, _ column: Int) -> Bool {
    field(row, column, of: .boolean, "a boolean").first.map { $0 != 0 } ?? false
  }

  /// The value of a text, varchar, name, json, jsonb or enum column.
  public func text(_ row: Int, _ column: Int) -> String {
    String(decoding: textField(row, column), as: UTF8.self)
  }

  /// The value of a column of any type in its binary format: for bytea the bytes, for uuid its 16 bytes.
  public func bytes(_ row: Int, _ column: Int) -> [UInt8] { Array(field(row, column)) }

  /// Like `int64`, with nil for null.
  public func optionalInt64(_ row: Int, _ column: Int) -> Int64? {
    isNull(row, column) ? nil : int64(row, column)
  }

  /// Like `double`, with nil for null.
  public func optionalDouble(_ row: Int, _ column: Int) -> Double? {
    isNull(row, column) ? nil : double(row, column)
  }

  /// Like `bool`, with nil for null.
  public func optionalBool(_ row: Int, _ column: Int) -> Bool? {
    isNull(row, column) ? nil : bool(row, column)
  }

  /// Like `text`, with nil for null.
  public func optionalText(_ row: Int, _ column: Int) -> String? {
    isNull(row, column) ? nil : text(row, column)
  }

  /// Like `bytes`, with nil for null.
  public func optionalBytes(_ row: Int, _ column: Int) -> [UInt8]? {
    isNull(row, column) ? nil : bytes(row, column)
  }

  /// Passes the UTF-8 of a text column (see `text`) to `body` without copying it. It is valid only within `body`.
  @inlinable
  public func withText<Value, Failure: Error>(
    _ row: Int, _ column: Int, _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    try withExtendedLifetime(self) { () throws(Failure) -> Value in try body(textField(row, column)) }
  }

  /// Passes the bytes of a column of any type to `body` without copying them. They are valid only within `body`.
  @inlinable
  public func withBytes<Value, Failure: Error>(
    _ row: Int, _ column: Int, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    try withExtendedLifetime(self) { () throws(Failure) -> Value in try body(field(row, column)) }
  }

  /// The UTF-8 of a text column.
  @usableFromInline
  func textField(_ row: Int, _ column: Int) -> UnsafeBufferPointer<UInt8> {
    // A jsonb value begins with the version of its format.
    if column >= 0, column < kinds.count, kinds[column] == .jsonb {
      return UnsafeRawBufferPointer(rebasing: field(row, column).dropFirst()).bindMemory(to: UInt8.self)
    }
    return field(row, column, of: .text, "a text").bindMemory(to: UInt8.self)
  }

  /// The bytes of a value, valid for the lifetime of this object; empty if there is no value.
  @usableFromInline
  func field(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
    guard let (y, x) = place(row, column) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    let bytes = UnsafeRawBufferPointer(
      start: PQgetvalue(result, y, x), count: Int(PQgetlength(result, y, x)))
    if bytes.isEmpty, PQgetisnull(result, y, x) == 1 {
      faults.note("Column \(name(ofColumn: column)) is null in row \(row).")
    }
    return bytes
  }

  @inline(__always)
  private func field(_ row: Int, _ column: Int, of kind: Kind, _ expected: String)
    -> UnsafeRawBufferPointer
  {
    let bytes = field(row, column)
    // Without a value of this place a fault was noted.
    if column >= 0, column < kinds.count, kinds[column] != kind {
      faults.note("Column \(name(ofColumn: column)) is not \(expected).")
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
    return bytes
  }

  @inline(__always)
  private func place(_ row: Int, _ column: Int) -> (Int32, Int32)? {
    if row >= 0, row < count, column >= 0, column < columnCount { return (Int32(row), Int32(column)) }
    faults.note("There is no row \(row) with a column \(column) among \(count) with \(columnCount).")
    return nil
  }
}
