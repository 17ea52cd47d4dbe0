/// Writes one JSON text into its own buffer, with commas and escapes.
///
/// The calls must follow the grammar: a key before each value of an object, an end for each begin. The writer only checks the number of
/// ends. Strings and numbers always become valid JSON in valid UTF-8. A writer must not be used concurrently.
///
/// Source: RFC 8259.
package struct JSONWriter: ~Copyable {
  var storage: UnsafeMutablePointer<UInt8>
  private var capacity: Int
  /// Whether the buffer is the writer's own: one that was lent belongs to an array.
  private var isOwner = true
  /// The number of bytes written so far.
  package internal(set) var count = 0
  private var needsComma = false
  private var depth = 0

  /// Creates an empty text.
  ///
  /// - Parameter capacity: the initial size of the buffer in bytes, default 4,096. The buffer grows automatically.
  package init(capacity: Int = 4096) {
    self.capacity = max(capacity, 64)
    storage = .allocate(capacity: self.capacity)
  }

  deinit {
    if isOwner { storage.deallocate() }
  }

  /// The text that `body` writes, in the array into which it was written: unlike ``bytes`` without a copy, as long as `capacity` is
  /// sufficient. For texts of megabytes.
  ///
  /// - Parameters:
  ///   - capacity: the size of the array in bytes. Memory that is not written to is only reserved.
  ///   - body: writes one JSON text.
  /// - Returns: the text, and what `body` returned.
  /// - Throws: the error of `body`.
  package static func text<Result>(
    capacity: Int, _ body: (inout JSONWriter) throws -> Result
  ) throws -> (bytes: [UInt8], result: Result) {
    var grown: [UInt8]?
    var result: Result?
    let bytes = try [UInt8](unsafeUninitializedCapacity: max(capacity, 64)) { buffer, count in
      guard let start = buffer.baseAddress else { return }
      var writer = JSONWriter(lent: start, buffer.count)
      result = try body(&writer)
      if writer.isOwner { grown = writer.bytes } else { count = writer.count }
    }
    guard let result else { preconditionFailure("an array of at least 64 bytes has an address") }
    return (grown ?? bytes, result)
  }

  private init(lent storage: UnsafeMutablePointer<UInt8>, _ capacity: Int) {
    (self.storage, self.capacity, isOwner) = (storage, capacity, false)
  }

  /// A copy of the bytes written so far.
  package var bytes: [UInt8] {
    Array(UnsafeBufferPointer(start: storage, count: count))
  }

  /// Passes the bytes written so far to `body`, without copying.
  ///
  /// - Parameter body: receives the bytes, which are valid until it returns.
  /// - Throws: the error of `body`.
  package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try body(UnsafeRawBufferPointer(start: storage, count: count))
  }

  /// Reserves space for more bytes, where about so many follow: the buffer then doesn't grow step by step.
  package mutating func reserveCapacity(_ more: Int) { reserve(more) }

  /// Clears the text, and keeps the buffer for the next one.
  package mutating func removeAll() {
    count = 0
    depth = 0
    needsComma = false
  }

  /// Writes `{`.
  package mutating func beginObject() { begin(UInt8(ascii: "{")) }

  /// Writes a prepared beginning of an object, up to the colon before a value.
  package mutating func beginObject(_ fragment: JSONKeyFragment) {
    key(fragment)
    depth &+= 1
  }

  /// Writes `}`. Traps without a matching begin.
  package mutating func endObject() { end(UInt8(ascii: "}")) }

  /// Writes `[`.
  package mutating func beginArray() { begin(UInt8(ascii: "[")) }

  /// Writes `]`. Traps without a matching begin.
  package mutating func endArray() { end(UInt8(ascii: "]")) }

  /// Writes a key that is a literal without anything to escape.
  package mutating func key(_ name: StaticString) {
    precondition(name.hasPointerRepresentation, "a key has to be a string, not a single character")
    let length = name.utf8CodeUnitCount
    reserve(length &+ 4)
    var end = storage + count
    if needsComma {
      end.pointee = UInt8(ascii: ",")
      end += 1
    }
    end.pointee = UInt8(ascii: "\"")
    (end + 1).update(from: name.utf8Start, count: length)
    end += length &+ 1
    end[0] = UInt8(ascii: "\"")
    end[1] = UInt8(ascii: ":")
    count = end - storage + 2
    needsComma = false
  }

  /// Writes a prepared key by copying its bytes.
  package mutating func key(_ fragment: JSONKeyFragment) {
    beginValue()
    append(fragment.bytes)
    needsComma = false
  }

  /// Writes any key.
  package mutating func key(named name: String) {
    string(name)
    append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// Writes `true` or `false`.
  package mutating func bool(_ value: Bool) {
    beginValue()
    let text: StaticString = value ? "true" : "false"
    append(text.utf8Start, text.utf8CodeUnitCount)
  }

  /// Writes `null`.
  package mutating func null() {
    beginValue()
    let text: StaticString = "null"
    append(text.utf8Start, text.utf8CodeUnitCount)
  }

  /// Copies bytes that are already JSON. The caller is responsible for their validity.
  package mutating func rawValue(_ bytes: UnsafeBufferPointer<UInt8>) {
    beginValue()
    if let start = bytes.baseAddress { append(start, bytes.count) }
  }

  /// Copies bytes that are already JSON. The caller is responsible for their validity.
  package mutating func rawValue(_ bytes: [UInt8]) {
    beginValue()
    append(bytes)
  }

  // MARK: Shared by all kinds

  /// Writes the comma before a value or key, if needed.
  @inline(__always)
  mutating func beginValue() {
    if needsComma { append(UInt8(ascii: ",")) }
    needsComma = true
  }

  private mutating func begin(_ bracket: UInt8) {
    beginValue()
    append(bracket)
    depth &+= 1
    needsComma = false
  }

  private mutating func end(_ bracket: UInt8) {
    precondition(depth > 0, "JSONWriter: an end without its begin")
    append(bracket)
    depth &-= 1
    needsComma = true
  }

  @inline(__always)
  mutating func append(_ byte: UInt8) {
    reserve(1)
    storage[count] = byte
    count &+= 1
  }

  @inline(__always)
  mutating func append(_ bytes: [UInt8]) {
    reserve(bytes.count)
    bytes.withUnsafeBufferPointer { if let start = $0.baseAddress { append(start, $0.count) } }
  }

  @inline(__always)
  mutating func append(_ start: UnsafePointer<UInt8>, _ length: Int) {
    reserve(length)
    (storage + count).update(from: start, count: length)
    count &+= length
  }

  /// Reserves space for `length` more bytes.
  @inline(__always)
  mutating func reserve(_ length: Int) {
    if capacity &- count < length { grow(length) }
  }

  @inline(never)
  private mutating func grow(_ length: Int) {
    let larger = max(capacity * 2, count + length)
    let moved = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
    moved.moveInitialize(from: storage, count: count)
    if isOwner { storage.deallocate() }
    (storage, capacity, isOwner) = (moved, larger, true)
  }
}
