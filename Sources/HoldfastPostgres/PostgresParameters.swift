internal import CPostgres

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// The values of a statement's parameters, in order, in PostgreSQL's binary format.
///
/// All values lie in one buffer, so a thousand rows as a few arrays cost no object each. Keep it and call
/// `removeAll` to use the buffer again. The type of each is sent with it, so a statement must always be given the
/// same types: a null has the type of what it is a null of. Where the column's type is another, the SQL converts:
/// `$1::jsonb`, `$2::uuid` of texts.
public struct PostgresParameters: Sendable {
  @usableFromInline var bytes: [UInt8] = []
  @usableFromInline var fields: [Field] = []
  /// The types of the fields, side by side for libpq.
  @usableFromInline var types: [UInt32] = []
  /// The number, from 1, of the first text that holds U+0000.
  @usableFromInline var numberWithNUL: Int?

  /// Where a value lies in `bytes`; `count` is -1 for null.
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

  /// Makes no parameters.
  public init() {}

  /// Makes parameters of values of any types, nil for null: `PostgresParameters(zone, 5, name as String?)`.
  @inlinable
  public init<each Value: PostgresValue>(_ values: repeat (each Value)?) {
    repeat append(each values)
  }

  /// How many there are.
  public var count: Int { fields.count }

  /// Takes all out, and keeps the memory for the next.
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

  /// Adds UTF-8 as text. Only U+0000 is looked for; the server checks the rest.
  public mutating func append(text: UnsafeBufferPointer<UInt8>) {
    append(UnsafeRawBufferPointer(text), as: .text)
    checkText(from: bytes.count - text.count)
  }

  /// Adds bytes as bytea.
  public mutating func append(bytes value: UnsafeRawBufferPointer) { append(value, as: .bytea) }

  /// Adds bytes that are in the binary format of `type` already.
  public mutating func append(_ value: UnsafeRawBufferPointer, as type: PostgresType) {
    types.append(type.identifier)
    fields.append(Field(start: bytes.count, count: value.count))
    bytes.append(contentsOf: value)
  }

  /// Notes that the text which ends the buffer, and belongs to the last field, holds U+0000.
  @usableFromInline
  mutating func checkText(from start: Int) {
    guard numberWithNUL == nil, start < bytes.count else { return }
    let found = bytes.withUnsafeBytes { buffer -> Bool in
      buffer.baseAddress.map { memchr($0 + start, 0, buffer.count - start) != nil } ?? false
    }
    if found { numberWithNUL = types.count }
  }

  /// Fails when a text holds U+0000, which PostgreSQL can't store.
  func check(for statement: String) throws(PostgresError) {
    guard let number = numberWithNUL else { return }
    throw PostgresError(
      .invalidText, "The text of parameter $\(number) holds U+0000.", while: .running, statement: statement)
  }

  /// The pointers that libpq asks for; they hold only within `body`.
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

/// The parallel arrays that libpq's functions take.
struct LibpqParameters {
  let count: Int32
  let types: UnsafePointer<UInt32>?
  let values: UnsafePointer<UnsafePointer<CChar>?>?
  let lengths: UnsafePointer<Int32>?
  /// All 1: binary.
  let formats: UnsafePointer<Int32>?
}
