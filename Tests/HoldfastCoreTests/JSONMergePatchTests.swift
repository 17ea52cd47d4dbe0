import HoldfastCore
import Testing

/// RFC 7396.
@Suite struct JSONMergePatchTests {
  @Test(
    "the examples of RFC 7396, appendix A",
    arguments: [
      (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
      (#"{"a":"b"}"#, #"{"a":null}"#, "{}"), (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
      (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
      (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
      (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#), (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
      (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#), (#"{"a":"foo"}"#, "null", "null"),
      (#"{"a":"foo"}"#, #""bar""#, #""bar""#), (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
      (#"[1,2]"#, #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
      ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
    ])
  func examples(_ target: String, _ patch: String, _ expected: String) throws {
    let merged = try JSONMergePatch.apply(Array(patch.utf8), to: Array(target.utf8))
    #expect(String(decoding: merged, as: UTF8.self) == expected)
  }

  @Test("what the patch does not touch keeps its bytes, and names are told apart by theirs")
  func bytes() throws {
    let target = #"{"big":123456789012345678901234567890,"r":1.50,"e":1e999,"\u00e9":1}"#
    let merged = try JSONMergePatch.apply(Array(#"{"e\u0301":2}"#.utf8), to: Array(target.utf8))
    #expect(
      String(decoding: merged, as: UTF8.self)
        == "{\"big\":123456789012345678901234567890,\"r\":1.50,\"e\":1e999,\"\u{e9}\":1,\"e\u{301}\":2}")
    #expect(try JSONMergePatch.apply(Array("{}".utf8), to: nil) == Array("{}".utf8))
  }

  @Test("what is no JSON throws")
  func broken() {
    #expect(throws: JSONError.self) { try JSONMergePatch.apply(Array("{".utf8), to: nil) }
    #expect(throws: JSONError.self) { try JSONMergePatch.apply(Array("{}".utf8), to: Array("x".utf8)) }
  }
}
