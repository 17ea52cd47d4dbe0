/// Whether `name` is a token of RFC 9110, section 5.6.2.
func isFieldName(_ name: String) -> Bool {
  var name = name
  return name.withUTF8 { !$0.isEmpty && $0.allSatisfy(isTokenByte) }
}

/// Whether `value` has no control character, which could end the field.
func isFieldValue(_ value: String) -> Bool {
  var value = value
  return value.withUTF8 { $0.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
}

/// Whether a byte is allowed in a token: RFC 9110, section 5.6.2.
func isTokenByte(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"):
    true
  default: "!#$%&'*+.^_`|~".utf8.contains(byte)
  }
}
