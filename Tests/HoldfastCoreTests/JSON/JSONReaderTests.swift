import HoldfastCore
import Testing

@Suite("JSON reader")
struct JSONReaderTests {
  @Test("members are read by name without a tree, unread ones are skipped")
  func members() throws {
    let text =
      #"{"table":"items","extra":[{"a":1}],"rev":3,"columns":{"title":"A \"b\" \u00e9","done":false,"gone":null}}"#
    var table = "", title = "", rev: Int64 = 0, done: Bool?, gone = false
    try JSONReader.read(text) { reader in
      try reader.readObject { key, reader in
        switch key {
        case "table": table = try reader.readString()
        case "rev": rev = try reader.readInt64()
        case "columns":
          try reader.readObject { key, reader in
            if key == "title" {
              title = try reader.readStringBytes { String(decoding: $0, as: UTF8.self) }
            } else if key.matches("done") {
              done = try reader.readBool()
            } else {
              gone = try reader.readNullIfPresent()
            }
          }
        default: break
        }
      }
    }
    #expect(table == "items" && rev == 3 && title == "A \"b\" é" && done == false && gone)
  }

  @Test("a raw value is the exact bytes of the text")
  func rawValue() throws {
    let raw = try JSONReader.read(#" [ {"a" : [1, 2.0e1 ] } , 5 ] "#) { reader in
      var raws: [String] = []
      try reader.readArray { raws.append(String(decoding: try $0.readRawValue(), as: UTF8.self)) }
      return raws
    }
    #expect(raw == [#"{"a" : [1, 2.0e1 ] }"#, "5"])
  }

  @Test("keys compare with names of every length")
  func keys() throws {
    for length in 0..<40 {
      let name = String(repeating: "k", count: length)
      try JSONReader.read("{\"\(name)\":1}") { reader in
        try reader.readObject { key, _ in
          #expect(key.matches(name) && key.string == name)
          #expect(!key.matches(name + "k") && !key.matches(String(name.dropLast()) + "x"))
          #expect((key == "kkk") == (length == 3))
        }
      }
    }
  }

  @Test("an integer is read exactly or not at all")
  func integers() throws {
    for value in [0, 1, -1, .max, .min, .max - 1, .min + 1, 1 << 53 + 1, 999_999_999_999_999_999] as [Int64] {
      #expect(try JSONReader.read("\(value)") { try $0.readInt64() } == value)
    }
    for text in [
      "9223372036854775808", "-9223372036854775809", "18446744073709551616", "99999999999999999999",
    ] {
      #expect(code(text) { _ = try $0.readInt64() } == .numberOutOfRange)
    }
    for text in ["1.0", "1e0", "0.0", "1E5"] {
      #expect(code(text) { _ = try $0.readInt64() } == .notAnInteger)
    }
  }

  @Test("asking for another kind is an error, and no value is not a kind")
  func mismatches() {
    #expect(code("1") { _ = try $0.readString() } == .typeMismatch)
    #expect(code("\"1\"") { _ = try $0.readInt64() } == .typeMismatch)
    #expect(code("\"1\"") { _ = try $0.readDouble() } == .typeMismatch)
    #expect(code("null") { _ = try $0.readBool() } == .typeMismatch)
    #expect(code("true") { try $0.readNull() } == .typeMismatch)
    #expect(code("[]") { try $0.readObject { _, _ in } } == .typeMismatch)
    #expect(code("{}") { try $0.readArray { _ in } } == .typeMismatch)
    #expect(code("x") { try $0.readArray { _ in } } == .unexpectedByte)
    #expect(code("x") { _ = try $0.peekKind() } == .unexpectedByte)
  }

  @Test("a swallowed error can't turn into a misread text")
  func spent() {
    let swallowed = code(#"{"a":"x","b":2}"#) { reader in
      try reader.readObject { _, reader in _ = try? reader.readInt64() }
    }
    #expect(swallowed == .typeMismatch)
    struct Mine: Error {}
    let abandoned = code(#"[{"a":1,"b":2},3]"#) { reader in
      try reader.readArray { reader in try? reader.readObject { _, _ in throw Mine() } }
    }
    #expect(abandoned == .abandoned)
    #expect(throws: Mine.self) { try JSONReader.read("[1]") { try $0.readArray { _ in throw Mine() } } }
  }

  @Test("reading more values than there are is an error")
  func tooMany() {
    #expect(
      code("[1]") {
        try $0.readArray {
          _ = try $0.readInt64(); _ = try $0.readInt64()
        }
      } == .unexpectedByte)
    #expect(
      code("1") {
        _ = try $0.readInt64(); _ = try $0.readInt64()
      } == .unexpectedEnd)
  }

  private func code(_ text: String, _ body: (inout JSONReader) throws -> Void) -> JSONError.Code? {
    do { try JSONReader.read(text, body) } catch { return (error as? JSONError)?.code }
    return nil
  }
}
