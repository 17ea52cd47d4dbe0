import HoldfastCore
import Testing

@Suite("Server-Sent Events are read as the HTML standard says")
struct EventStreamParserTests {
  private func parse(_ text: String) throws -> [ServerSentEvent] {
    var parser = EventStreamParser()
    return try parser.receive(text.utf8)
  }

  @Test(
    "the examples of the standard",
    arguments: [
      ("data: YHOO\ndata: +2\ndata: 10\n\n", [ServerSentEvent(data: "YHOO\n+2\n10")]),
      (
        ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
        [
          ServerSentEvent(data: "first event"), ServerSentEvent(data: "second event"),
          ServerSentEvent(data: " third event"),
        ]
      ),
      ("data\n\ndata\ndata\n\ndata:", [ServerSentEvent(data: ""), ServerSentEvent(data: "\n")]),
      ("data:test\n\ndata: test\n\n", [ServerSentEvent(data: "test"), ServerSentEvent(data: "test")]),
      (
        "event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n",
        [ServerSentEvent(type: "add", data: "73857293"), ServerSentEvent(type: "remove", data: "2153")]
      ),
    ])
  func examples(text: String, events: [ServerSentEvent]) throws {
    #expect(try parse(text) == events)
  }

  @Test("lines end with CR, LF or CRLF, and it does not matter where the bytes are cut")
  func lineEnds() throws {
    let lines = [
      "\u{FEFF}event: a", "data: 1", "data: 2", "", ": nothing", "data: ö\u{1F600}", "id: 7", "", "",
    ]
    let expected = [ServerSentEvent(type: "a", data: "1\n2"), ServerSentEvent(data: "ö\u{1F600}")]
    for end in ["\n", "\r", "\r\n"] {
      let bytes = Array(lines.joined(separator: end).utf8)
      for cut in 0...bytes.count {
        var parser = EventStreamParser()
        let events = try parser.receive(bytes[..<cut]) + parser.receive([]) + parser.receive(bytes[cut...])
        #expect(events == expected)
        #expect(parser.lastEventID == "7")
      }
    }
  }

  @Test("a byte order mark is taken off at the very beginning alone")
  func byteOrderMark() throws {
    #expect(try parse("\u{FEFF}data: 1\n\n") == [ServerSentEvent(data: "1")])
    #expect(try parse("\u{FEFF}\u{FEFF}data: 1\n\n").isEmpty)
    #expect(try parse("\n\u{FEFF}data: 1\n\n").isEmpty)
  }

  @Test("an id counts from the end of its block on, with or without data, and one with a zero byte never")
  func ids() throws {
    var parser = EventStreamParser(lastEventID: "before")
    _ = try parser.receive("id: 1\ndata: x\n".utf8)
    #expect(parser.lastEventID == "before")
    _ = try parser.receive("\n".utf8)
    #expect(parser.lastEventID == "1")
    #expect(try parser.receive("id: 2\n\n".utf8).isEmpty)
    #expect(parser.lastEventID == "2")
    _ = try parser.receive("id: 3\u{0}\n\n".utf8)
    #expect(parser.lastEventID == "2")
    _ = try parser.receive("data: y\n\n".utf8)
    #expect(parser.lastEventID == "2")
    _ = try parser.receive("id\n\n".utf8)
    #expect(parser.lastEventID == "")
  }

  @Test("retry takes digits alone")
  func retry() throws {
    var parser = EventStreamParser()
    for wrong in ["", "-1", "+1", "1.5", "1s", "99999999999999999999", "٣"] {
      _ = try parser.receive("retry: \(wrong)\n".utf8)
      #expect(parser.retryMilliseconds == nil, "\(wrong)")
    }
    _ = try parser.receive("retry: 2500\n".utf8)
    #expect(parser.retryMilliseconds == 2500)
  }

  @Test("fields that are not known, and names with other letters or blanks, are passed over")
  func otherFields() throws {
    #expect(try parse("Data: 1\n data: 2\ndata : 3\nfoo: 4\nfoo\n\n").isEmpty)
  }

  @Test("what is no UTF-8 is replaced, and what is not whole at the end is dropped")
  func brokenBytes() throws {
    var parser = EventStreamParser()
    #expect(
      try parser.receive(Array("data: a".utf8) + [0xFF] + Array("b\n\ndata: c\n".utf8))
        == [ServerSentEvent(data: "a\u{FFFD}b")])
  }

  @Test("a line and an event have a bound")
  func bounds() throws {
    var parser = EventStreamParser()
    _ = try parser.receive(Array(repeating: UInt8(ascii: "x"), count: EventStreamParser.lineLimit))
    #expect(throws: EventStreamParser.TooLong.self) { try parser.receive("x".utf8) }
    var other = EventStreamParser()
    let line = Array("data: \(String(repeating: "x", count: 60000))\n".utf8)
    #expect(throws: EventStreamParser.TooLong.self) {
      for _ in 0..<20 { _ = try other.receive(line) }
    }
  }
}
