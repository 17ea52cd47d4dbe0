internal import CPostgres

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// The values of a statement's parameters, in order, in PostgreSQL's binary format.
///
/// All values are in one buffer, so a thousand rows in a few arrays need no object each. Keep the parameters and call `removeAll` to reuse
/// the buffer. The type of each is sent with it, so a statement must always get the same types; a null has the type of its optional. If the
/// column has another type, convert in SQL: `$1::jsonb`, `$2::uuid` of texts.
public struct PostgresParameters: Sendable {
  @usableFromInline var bytes: [UInt8] = []
  @usableFromInline var fields: [Field] = []
  /// The types of the fields, contiguous for libpq.
  @usableFromInline var types: [UInt32] = []
  /// The number, from 1, of the first text that contains U+0000.
  @usableFromInline var numberWithNUL: Int?

  /// The range of a value in `bytes`; `count` is -1 for null.
  @usableFromInline
  struct Field: Sendable {
    @usableFromInline var start: Int
    @usableFromInline var count: Int

    @usableFromInline
    init(start: Int, count: Int) {
      self.start = start
      self.count = count
    }
  }

  /// Creates empty parameters.
  public init() {}

  /// Creates parameters that are one array: `PostgresParameters(array: names)`.
  public init(array: some Sequence<some PostgresValue>) { append(array: array) }

  /// Creates parameters of any types, nil for null: `PostgresParameters(zone, 5, name as String?)`.
  @inlinable
  public init<each Value: PostgresValue>(_ values: repeat (each Value)?) {
    repeat append(each values)
  }

  /// The number of parameters.
  public var count: Int { fields.count }

  /// Removes all parameters, and keeps the buffer.
  public mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    fields.removeAll(keepingCapacity: true)
    types.removeAll(keepingCapacity: true)
    numberWithNUL = nil
  }

  /// Adds a value; nil is null.
  @inlinable
  public mutating func append<Value: PostgresValue>(_ value: Value?) {
    types.append(Value.postgresType.identifier)
    let start = bytes.count
    guard let value else { return fields.append(Field(start: start, count: -1)) }
    value.encode(into: &bytes)
    fields.append(Field(start: start, count: bytes.count - start))
    if Value.postgresType == .text { checkText(from: start) }
  }

  /// Adds UTF-8 as text. It is only checked for U+0000; the server checks the rest.
  public mutating func append(text: UnsafeBufferPointer<UInt8>) {
    append(UnsafeRawBufferPointer(text), as: .text)
    checkText(from: bytes.count - text.count)
  }

  /// Adds bytes as bytea.
  public mutating func append(bytes value: UnsafeRawBufferPointer) { append(value, as: .bytea) }

  /// Adds bytes that are already in the binary format of `type`.
  public mutating func append(_ value: UnsafeRawBufferPointer, as type: PostgresType) {
    types.append(type.identifier)
    fields.append(Field(start: bytes.count, count: value.count))
    bytes.append(contentsOf: value)
  }

  /// Checks the text at the end of the buffer, which belongs to the last field, for U+0000.
  @usableFromInline
  mutating func checkText(from start: Int) {
    guard numberWithNUL == nil, start < bytes.count else { return }
    let found = bytes.withUnsafeBytes { buffer -> Bool in
      buffer.baseAddress.map { memchr($0 + start, 0, buffer.count - start) != nil } ?? false
    }
    if found { numberWithNUL = types.count }
  }

  /// Throws if a text contains U+0000, which PostgreSQL can't store.
  func check(for statement: String) throws(PostgresError) {
    guard let number = numberWithNUL else { return }
    throw PostgresError(
      .invalidText, "The text of parameter $\(number) holds U+0000.", while: .running, statement: statement)
  }

  /// The pointers for libpq, which are valid only within `body`.
  func withPointers<Result>(_ body: (LibpqParameters) -> Result) -> Result {
    let count = fields.count
    return bytes.withUnsafeBytes { buffer in
      withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: count + 1) { values in
        withUnsafeTemporaryAllocation(of: Int32.self, capacity: 2 * count + 1) { numbers in
          // An empty value must have an address too.
          let base = buffer.baseAddress ?? UnsafeRawPointer(values.baseAddress.unsafelyUnwrapped)
          for (index, field) in fields.enumerated() {
            let address = (base + field.start).assumingMemoryBound(to: CChar.self)
            values.initializeElement(at: index, to: field.count < 0 ? nil : address)
            numbers.initializeElement(at: index, to: Int32(clamping: max(field.count, 0)))
            numbers.initializeElement(at: count + index, to: 1)
          }
          return types.withUnsafeBufferPointer { types in
            body(
              LibpqParameters(
                count: Int32(clamping: count), types: types.baseAddress,
                values: UnsafePointer(values.baseAddress), lengths: UnsafePointer(numbers.baseAddress),
                formats: numbers.baseAddress.map { UnsafePointer($0 + count) }))
          }
        }
      }
    }
  }
}

/// The parallel arrays for libpq's functions.
struct LibpqParameters {
  let count: Int32
  let types: UnsafePointer<UInt32>?
  let values: UnsafePointer<UnsafePointer<CChar>?>?
  let lengths: UnsafePointer<Int32>?
  /// All 1: binary.
  let formats: UnsafePointer<Int32>?
}
