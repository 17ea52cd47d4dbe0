import HoldfastCore
import HoldfastHTTP
import Testing

@testable import HoldfastServer

@Suite("The state of a collection as a text")
struct CollectionStateTests {
  private let zones: [(zone: String, seq: Int64)] = [
    ("0193b1a0-7c3e-7000-8000-000000000001", 0), ("catalogue", 300), ("\u{E9}", .max),
  ]

  @Test("what is said is read back, to the last zone")
  func roundTrip() throws {
    let state = CollectionState(epoch: "5f1c2a9e", zones: zones)
    let read = try #require(CollectionState(state.text))
    #expect(read.epoch == "5f1c2a9e")
    #expect(read.zones.map(\.zone) == zones.map(\.zone))
    #expect(read.zones.map(\.seq) == zones.map(\.seq))
    #expect(CollectionState(CollectionState(epoch: "5f1c2a9e", zones: []).text)?.zones.isEmpty == true)
  }

  @Test("nothing else is read: each changed, missing or added character is odd, and none traps")
  func odd() {
    let text = CollectionState(epoch: "5f1c2a9e", zones: zones).text
    for count in 0..<text.utf8.count {
      let part = String(text.prefix(count))
      if let read = CollectionState(part) { #expect(read.zones.count < zones.count && read.text == part) }
    }
    for tail in ["A", "AAAA", "=", "\""] { #expect(CollectionState(text + tail) == nil) }
    var random = TestRandom(seed: 7)
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.\"\u{E9}")
    for _ in 0..<20000 {
      var characters = Array(text)
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = Int.random(in: characters.indices, using: &random)
        characters[place] = alphabet.randomElement(using: &random) ?? "A"
      }
      let changed = String(characters)
      if let read = CollectionState(changed) { #expect(read.text == changed) }
    }
  }

  @Test("of more than 64 zones it is a hash, from which nothing is read")
  func many() {
    let zones = (0..<65).map { (zone: String(1000 + $0), seq: Int64($0)) }
    let text = CollectionState(epoch: "5f1c2a9e", zones: zones).text
    #expect(CollectionState(text) == nil)
    #expect(text.utf8.count < 30)
    var moved = zones
    moved[64].seq += 1
    #expect(CollectionState(epoch: "5f1c2a9e", zones: moved).text != text)
  }

  @Test("dates say seconds exactly, and only their own form is read")
  func dates() {
    #expect(HTTPDate.text(seconds: 784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(HTTPDate.text(seconds: 0) == "Thu, 01 Jan 1970 00:00:00 GMT")
    for seconds: Int64 in [0, 1, 59, 86399, 86400, 951_782_400, 4_102_444_800, 253_402_300_799] {
      #expect(HTTPDate.text(seconds: seconds).flatMap(HTTPDate.seconds) == seconds)
    }
    #expect(HTTPDate.text(seconds: 253_402_300_800) == nil)
    for text in [
      "", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Mon, 06 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "0",
    ] { #expect(HTTPDate.seconds(text) == nil, "\(text)") }
  }

  @Test("preconditions: lists, weak tags, and the order of the two")
  func preconditions() throws {
    func matches(_ headers: [(String, String)]) throws -> Bool {
      var fields = HTTPHeaders()
      for (name, value) in headers { fields.append(name: name, value: value) }
      return try Preconditions(HTTPRequest(headers: fields)).match(tag: "abc", seconds: 5)
    }
    let date = "Thu, 01 Jan 1970 00:00:05 GMT"
    for good in [
      "\"abc\"", "W/\"abc\"", "\"x\", \"abc\"", "\"x\",W/\"abc\"", "*",
      "\"a,b\", \"abc\"",
    ] {
      #expect(try matches([("If-None-Match", good)]), "\(good)")
    }
    for bad in ["\"abcd\"", "abc", "\"abc", "", "\"abc-br\"", "\"*\""] {
      #expect(try !matches([("If-None-Match", bad), ("If-Modified-Since", date)]), "\(bad)")
    }
    #expect(try matches([("If-Modified-Since", date)]))
    #expect(try !matches([("If-Modified-Since", "Thu, 01 Jan 1970 00:00:06 GMT")]))
    #expect(try !matches([("If-Modified-Since", "yesterday")]))
  }
}

/// Random numbers that a seed decides.
struct TestRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ (state >> 33)
  }
}
