import HoldfastCore
import Testing

@Suite("JSON grammar")
struct JSONGrammarTests {
  static let accepted: [String] = [
    "null", "true", "false", "0", "-0", "1", "-1", "10", "123456789", "9223372036854775807",
    "-9223372036854775808", "9223372036854775808", "1.0", "-0.0", "0.1", "1e5", "1E5", "1e+5", "1e-5",
    "0e0", "0e+1", "0.5e10", "123.456e-7", "1e308", "5e-324", "1e-400", "2.2250738585072014e-308",
    "100000000000000000000000", "0.00000000000000000000000000001", "\"\"", "\"a\"", "\"\u{7F}\"",
    #""\"\\\/\b\f\n\r\t""#, #""\u0000""#, #""\u00e9\u00E9""#, #""\ud83d\ude00""#, #""\uD834\uDD1E""#,
    #""\uFFFF\ufffe""#, #""\udbff\udfff""#, "\"é ü 漢字 😀\"", "\"\u{2028}\u{2029}\"", "\"\u{FEFF}\"",
    "\"12345678\"", "\"1234567\"", "\"123456789\"", "[]", "[ ]", "[1]", "[1,2]", " [ 1 , 2 ] ", "[[]]",
    "[[],[]]",
    "[null,true,false,1,\"x\",{},[]]", "{}", "{ }", #"{"a":1}"#, #" { "a" : 1 , "b" : 2 } "#, #"{"":0}"#,
    #"{"a":{"a":{"a":1}}}"#, #"{"a":1,"A":2}"#, #"{"é":1,"e\u0301":2}"#, "\t\n\r 1 \t\n\r", "[\n1\r,\t2 ]",
    #"{"\u0061b":1,"b":2}"#, "[1e1,1E1,0.1]", #"[{"a":1},{"a":1}]"#,
  ]

  static let refused: [(String, JSONError.Code)] = [
    ("", .emptyInput), (" \n\t\r ", .emptyInput), ("\u{FEFF}1", .byteOrderMark), ("\u{FEFF}", .byteOrderMark),
    ("[", .unexpectedEnd), ("{", .unexpectedEnd), ("[1", .unexpectedEnd), ("[1,", .unexpectedEnd),
    (#"{"a""#, .unexpectedEnd), (#"{"a":"#, .unexpectedEnd), (#"{"a":1"#, .unexpectedEnd),
    (#"{"a":1,"#, .unexpectedEnd), ("\"", .unexpectedEnd), ("\"abc", .unexpectedEnd),
    (#""\"#, .unexpectedEnd),
    (#""\u12"#, .unexpectedEnd), ("nul", .unexpectedEnd), ("t", .unexpectedEnd), ("-", .unexpectedEnd),
    ("1.", .unexpectedEnd), ("1e", .unexpectedEnd), ("1e+", .unexpectedEnd), ("]", .unexpectedByte),
    ("}", .unexpectedByte), ("[1,]", .unexpectedByte), ("[,1]", .unexpectedByte), ("[,]", .unexpectedByte),
    ("[1 2]", .unexpectedByte), ("[1}", .unexpectedByte), ("[1;2]", .unexpectedByte),
    ("{,}", .unexpectedByte),
    (#"{"a":1,}"#, .unexpectedByte), (#"{"a" 1}"#, .unexpectedByte), (#"{"a":}"#, .unexpectedByte),
    (#"{a:1}"#, .unexpectedByte), (#"{1:1}"#, .unexpectedByte), (#"{null:1}"#, .unexpectedByte),
    (#"{'a':1}"#, .unexpectedByte), (#"{"a":1]"#, .unexpectedByte), (#"{"a":1 "b":2}"#, .unexpectedByte),
    (#"{"a"::1}"#, .unexpectedByte), ("'a'", .unexpectedByte), ("nulL", .unexpectedByte),
    ("True", .unexpectedByte),
    ("NaN", .unexpectedByte), ("Infinity", .unexpectedByte), ("-Infinity", .invalidNumber),
    ("+1", .unexpectedByte),
    (".5", .unexpectedByte), ("-.5", .invalidNumber), ("01", .invalidNumber), ("-01", .invalidNumber),
    ("00", .invalidNumber), ("1.e5", .invalidNumber), ("1.x", .invalidNumber), ("1ex", .invalidNumber),
    ("--1", .invalidNumber), ("1e1.5", .trailingBytes), ("0x10", .trailingBytes), ("1_000", .trailingBytes),
    ("1 2", .trailingBytes), ("{}{}", .trailingBytes), ("[]]", .trailingBytes), ("null,", .trailingBytes),
    ("1 // c", .trailingBytes), ("/* c */ 1", .unexpectedByte), ("1\u{0}", .trailingBytes),
    ("\u{0B}1", .unexpectedByte),
    ("1\u{A0}", .trailingBytes), ("1e999", .numberOutOfRange), ("-1e309", .numberOutOfRange),
    ("\"\u{0}\"", .controlCharacter), ("\"\n\"", .controlCharacter), ("\"\t\"", .controlCharacter),
    ("\"1234567\u{1F}\"", .controlCharacter), (#""\x41""#, .invalidEscape), (#""\a""#, .invalidEscape),
    (#""\u00G0""#, .invalidEscape), (#""\U0041""#, .invalidEscape), (#""\u 041""#, .invalidEscape),
    (#""\0""#, .invalidEscape), (#""\'""#, .invalidEscape), (#""\ud800""#, .loneSurrogate),
    (#""\udc00""#, .loneSurrogate), (#""\ud800x""#, .loneSurrogate), (#""\ud800\n""#, .loneSurrogate),
    (#""\ud800\u0041""#, .loneSurrogate), (#""\ud800\ud800""#, .loneSurrogate),
    (#""\udc00\ud800""#, .loneSurrogate),
    (#"{"a":1,"a":1}"#, .duplicateKey), (#"{"a":1,"b":2,"a":3}"#, .duplicateKey),
    (#"{"a":1,"\u0061":2}"#, .duplicateKey), (#"{"":1,"":2}"#, .duplicateKey),
    (#"{"é":1,"\u00e9":2}"#, .duplicateKey),
    (#"[{"x":{"longer than eight":1,"longer than eight":2}}]"#, .duplicateKey),
  ]

  static let badUTF8: [[UInt8]] = [
    [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xC2, 0x41], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF],
    [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xE2, 0x82], [0xE2, 0x82, 0x41], [0xF0, 0x80, 0x80, 0x80],
    [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xF0, 0x9F, 0x98],
    [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFE], [0xFF],
  ]

  @Test("a text that keeps to RFC 8259 is read, and skipped", arguments: accepted)
  func accepts(text: String) throws {
    let value = try JSONValue(parsing: text)
    try JSONReader.read(text) { _ in }
    #expect(try JSONValue(parsing: value.bytes) == value)
    #expect(try JSONValue(parsing: value.formatted()) == value)
  }

  @Test("a text that breaks a rule is refused with its code", arguments: refused)
  func refuses(text: String, code: JSONError.Code) {
    #expect(code == fault { _ = try JSONValue(parsing: text) })
    if code != .numberOutOfRange {
      #expect(code == fault { try JSONReader.read(text) { _ in } }, "when skipped")
    }
  }

  @Test("bytes that are not UTF-8 are refused in values and keys", arguments: badUTF8)
  func refusesBadUTF8(bytes: [UInt8]) {
    let quoted = [UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")]
    let padded = (0..<72).map {
      [0x22] + [UInt8](repeating: 0x61, count: $0) + bytes + Array("and after\"".utf8)
    }
    for text in padded + [quoted, Array("{".utf8) + quoted + Array(":1}".utf8)] {
      #expect(fault { _ = try JSONValue(parsing: text) } == .invalidUTF8)
      #expect(fault { try JSONReader.read(text) { _ in } } == .invalidUTF8)
    }
  }

  @Test("nesting is limited, and the limit is exact")
  func depth() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    try JSONReader.read(nested(64)) { _ in }
    #expect(fault { try JSONReader.read(nested(65)) { _ in } } == .tooDeep)
    _ = try JSONValue(parsing: nested(256), maximumDepth: 1_000_000)
    #expect(fault { try JSONReader.read(nested(257), maximumDepth: .max) { _ in } } == .tooDeep)
    #expect(fault { try JSONReader.read("[]", maximumDepth: 0) { _ in } } == .tooDeep)
    #expect(fault { try JSONReader.read("[]", maximumDepth: .min) { _ in } } == .tooDeep)
    #expect(fault { try JSONReader.read(String(repeating: "[{\"a\":", count: 100_000)) { _ in } } == .tooDeep)
  }

  @Test(
    "a duplicate is found among few and among many keys, escaped or not",
    arguments: [2, 63, 64, 65, 66, 5000])
  func duplicates(count: Int) throws {
    let members = (0..<count).map { "\"column number \($0)\":\($0)" }
    try JSONReader.read("{\(members.joined(separator: ","))}") { _ in }
    for twin in Set([0, count / 2, count - 1]) {
      for name in ["column number \(twin)", "\\u0063olumn number \(twin)"] {
        let text = "{\(members.joined(separator: ",")),\"\(name)\":0}"
        #expect(fault { try JSONReader.read(text) { _ in } } == .duplicateKey)
      }
    }
  }

  @Test("an error says where and what, and nothing of the text")
  func description() {
    let error = #expect(throws: JSONError.self) {
      try JSONReader.read(#"{"secret":"hush","n":x}"#) { _ in }
    }
    #expect(error?.offset == 21)
    #expect(error?.description == "JSON: a byte that has no place there at byte 21")
  }

  private func fault(_ body: () throws -> Void) -> JSONError.Code? {
    do { try body() } catch { return (error as? JSONError)?.code }
    return nil
  }
}
