/// The header fields of a request, in order of arrival. Names are case-insensitive.
///
/// The received bytes are in one buffer; a `String` is created only for a requested field. Invalid UTF-8 becomes U+FFFD in it. Source: RFC
/// 9110, section 5.
public struct HTTPHeaders: Sendable {
  private struct Field {
    var start: Int
    var nameEnd: Int
    var end: Int
  }

  private var bytes: [UInt8] = []
  private var fields: [Field] = []

  /// No fields.
  public init() {}

  /// The number of fields, counting repeated names.
  public var count: Int { fields.count }

  /// The value of the field `name`; nil if absent. The values of a repeated field are joined by ", " (RFC 9110, section 5.3).
  public subscript(name: String) -> String? {
    var found: String?
    forEachValue(of: name) { value in
      let text = String(decoding: value, as: UTF8.self)
      found = found.map { $0 + ", " + text } ?? text
    }
    return found
  }

  /// Every field as (name, value), in order of arrival.
  public var all: [(name: String, value: String)] {
    fields.map { field in
      (
        String(decoding: bytes[field.start..<field.nameEnd], as: UTF8.self),
        String(decoding: bytes[field.nameEnd..<field.end], as: UTF8.self)
      )
    }
  }

  /// Appends a field.
  public mutating func append(name: String, value: String) {
    var name = name
    var value = value
    name.withUTF8 { name in value.withUTF8 { append(name: name, value: $0) } }
  }

  /// Appends a field, trimming blanks around its value.
  mutating func append(name: some Collection<UInt8>, value: some Collection<UInt8>) {
    if fields.isEmpty {
      bytes.reserveCapacity(512)
      fields.reserveCapacity(12)
    }
    let start = bytes.count
    bytes.append(contentsOf: name)
    let nameEnd = bytes.count
    bytes.append(contentsOf: value.drop(while: isBlank))
    while bytes.count > nameEnd, isBlank(bytes[bytes.count - 1]) { bytes.removeLast() }
    fields.append(Field(start: start, nameEnd: nameEnd, end: bytes.count))
  }

  /// Replaces all fields of a name by one.
  mutating func replace(_ name: String, with value: String) {
    var name = name
    name.withUTF8 { wanted in
      fields.removeAll {
        $0.nameEnd - $0.start == wanted.count && isSame(bytes[$0.start..<$0.nameEnd], wanted)
      }
    }
    append(name: name, value: value)
  }

  /// The values of a name, one for each field.
  package func values(of name: String) -> [String] {
    var values: [String] = []
    forEachValue(of: name) { values.append(String(decoding: $0, as: UTF8.self)) }
    return values
  }

  private func forEachValue(of name: String, _ body: (ArraySlice<UInt8>) -> Void) {
    var name = name
    name.withUTF8 { wanted in
      for field in fields where field.nameEnd - field.start == wanted.count {
        if isSame(bytes[field.start..<field.nameEnd], wanted) { body(bytes[field.nameEnd..<field.end]) }
      }
    }
  }
}

private func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

private func isSame(_ name: ArraySlice<UInt8>, _ wanted: UnsafeBufferPointer<UInt8>) -> Bool {
  var index = 0
  for byte in name {
    if lowercase(byte) != lowercase(wanted[index]) { return false }
    index += 1
  }
  return true
}

private func lowercase(_ byte: UInt8) -> UInt8 {
  byte &- 0x41 < 26 ? byte | 0x20 : byte
}
