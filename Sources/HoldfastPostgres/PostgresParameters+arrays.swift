// PostgreSQL's binary array format: the number of dimensions, whether there are nulls, and the elements' type. For the one dimension its
// length and first index follow, then each element with its length, or -1 for null. Source: array_recv in
// <https://github.com/postgres/postgres/blob/REL_15_STABLE/src/backend/utils/adt/arrayfuncs.c>.
extension PostgresParameters {
  /// Adds a one-dimensional array, for `unnest($1)` and `= ANY($1)`.
  ///
  /// - Parameter array: iterated once, without collecting a lazy sequence: `append(array: rows.lazy.map(\.seq))`.
  @inlinable
  public mutating func append<Value: PostgresValue>(array: some Sequence<Value>) {
    let start = beginArray(of: Value.postgresType)
    var count: Int32 = 0
    for value in array {
      appendElement(value)
      count += 1
    }
    endArray(from: start, count: count, hasNulls: false)
  }

  /// Adds a one-dimensional array with possible nulls.
  ///
  /// - Parameter array: iterated once, without collecting a lazy sequence.
  @inlinable
  public mutating func append<Value: PostgresValue>(array: some Sequence<Value?>) {
    let start = beginArray(of: Value.postgresType)
    var count: Int32 = 0
    var hasNulls = false
    for value in array {
      if let value {
        appendElement(value)
      } else {
        hasNulls = true
        bytes.appendInteger(-1 as Int32)
      }
      count += 1
    }
    endArray(from: start, count: count, hasNulls: hasNulls)
  }

  @usableFromInline
  mutating func beginArray(of type: PostgresType) -> Int {
    let start = bytes.count
    types.append(type.arrayIdentifier)
    bytes.appendInteger(1 as Int32)
    bytes.appendInteger(0 as Int32)
    bytes.appendInteger(type.identifier)
    bytes.appendInteger(0 as Int32)
    bytes.appendInteger(1 as Int32)
    return start
  }

  @inlinable
  mutating func appendElement<Value: PostgresValue>(_ value: Value) {
    let start = bytes.count
    bytes.appendInteger(0 as Int32)
    value.encode(into: &bytes)
    put(Int32(clamping: bytes.count - start - 4), at: start)
    if Value.postgresType == .text { checkText(from: start + 4) }
  }

  @usableFromInline
  mutating func endArray(from start: Int, count: Int32, hasNulls: Bool) {
    if count == 0 {
      put(0, at: start)
      bytes.removeLast(8)
    } else {
      if hasNulls { put(1, at: start + 4) }
      put(count, at: start + 12)
    }
    fields.append(Field(start: start, count: bytes.count - start))
  }

  @usableFromInline
  mutating func put(_ value: Int32, at offset: Int) {
    bytes.withUnsafeMutableBytes {
      $0.storeBytes(of: value.bigEndian, toByteOffset: offset, as: Int32.self)
    }
  }
}
